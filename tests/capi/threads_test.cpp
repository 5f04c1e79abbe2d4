// Two models and two threads at once, a model shared by both, a cancel from a third; under ThreadSanitizer too.
#include <atomic>
#include <thread>

#include "capi/support.hpp"

namespace mixtura::capi_test {
namespace {

std::vector<float> feed(const mixtura_model* model) {
    mixtura_generation_options options = MIXTURA_GENERATION_OPTIONS_INIT;
    options.thread_count = 2;
    options.cache_dtype = MIXTURA_DTYPE_F32;
    mixtura_generation* made = nullptr;
    if (mixtura_generation_create(model, &options, &made) != MIXTURA_OK) return {};
    const Generation generation(made);
    const std::int32_t tokens[] = {3, 14, 15, 92, 65, 35, 89, 79};
    if (mixtura_generation_feed(made, tokens, 8, nullptr) != MIXTURA_OK) return {};
    const float* logits = nullptr;
    std::size_t count = 0;
    if (mixtura_generation_logits(made, &logits, &count) != MIXTURA_OK) return {};
    return {logits, logits + count};
}

}  // namespace

TEST_CASE("Two threads with two models, and with one, have the answers they have alone", "[capi][short][threads]") {
    const Model first = open_model(), second = open_model(golden("models/mixtral"));
    const std::vector<float> alone[2] = {feed(first.get()), feed(second.get())};
    REQUIRE(alone[0].size() == 160);
    std::vector<float> together[4];
    std::thread threads[4];
    for (int i = 0; i < 4; ++i)
        threads[i] = std::thread([&, i] { together[i] = feed(i % 2 == 0 ? first.get() : second.get()); });
    for (std::thread& thread : threads) thread.join();
    for (int i = 0; i < 4; ++i) CHECK(together[i] == alone[i % 2]);
}

TEST_CASE("Each thread has its own last message, and a thread without a failure has none", "[capi][short][threads]") {
    mixtura_model* model = nullptr;
    CHECK(mixtura_model_open("/nowhere/here", nullptr, &model) == MIXTURA_NOT_FOUND);
    std::string before, after;
    std::thread([&] {
        before = mixtura_last_error_message();
        mixtura_model* other = nullptr;
        if (mixtura_model_open("/nowhere/there", nullptr, &other) == MIXTURA_NOT_FOUND)
            after = mixtura_last_error_message();
    }).join();
    CHECK(before.empty());
    CHECK(after.find("there") != std::string::npos);
    CHECK(std::string(mixtura_last_error_message()).find("here") != std::string::npos);
}

TEST_CASE("A cancel from another thread ends an answer", "[capi][short][threads]") {
    const Model model = open_model();
    mixtura_generation* made = nullptr;
    must(mixtura_generation_create(model.get(), nullptr, &made));
    const Generation generation(made);
    struct Progress {
        std::atomic<int> pieces{0};
        std::atomic<bool> is_cancelled{false};
    } progress;
    std::thread canceller([&] {
        while (progress.pieces.load() < 2) std::this_thread::yield();
        mixtura_generation_cancel(made);
        progress.is_cancelled = true;
    });
    static const std::int32_t none = 0;
    const std::int32_t prompt[] = {5, 6, 7};
    mixtura_request request = MIXTURA_REQUEST_INIT;
    request.prompt = prompt;
    request.prompt_count = 3;
    request.stop_tokens = &none;
    request.user_data = &progress;
    request.on_piece = [](const char*, std::size_t, const mixtura_sampled*, void* data) {
        auto* shared = static_cast<Progress*>(data);
        // The second piece waits for the cancel: else the context might fill up first.
        if (++shared->pieces == 2)
            while (!shared->is_cancelled) std::this_thread::yield();
        return 0;
    };
    mixtura_answer answer = MIXTURA_ANSWER_INIT;
    must(mixtura_generation_run(made, &request, &answer));
    canceller.join();
    CHECK(answer.finish == MIXTURA_FINISH_CANCELLED);
}

TEST_CASE("Sinks may come and go while models are opened", "[capi][short][threads]") {
    std::atomic<int> messages{0};
    const auto sink = [](std::int32_t, const char*, const char*, const char*, std::int32_t, void* data) {
        ++*static_cast<std::atomic<int>*>(data);
    };
    std::atomic<bool> is_done{false};
    std::thread opener([&] {
        for (int i = 0; i < 5; ++i) {
            mixtura_model* made = nullptr;
            if (mixtura_model_open(tiny_model().c_str(), nullptr, &made) == MIXTURA_OK) mixtura_model_destroy(made);
        }
        is_done = true;
    });
    while (!is_done) {
        mixtura_log_set(sink, &messages, MIXTURA_LOG_TRACE);
        mixtura_log_set(nullptr, nullptr, MIXTURA_LOG_NONE);
    }
    opener.join();
    const int seen = messages;
    const Model model = open_model();
    CHECK(messages == seen);
}

}  // namespace mixtura::capi_test
