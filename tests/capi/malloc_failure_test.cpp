// Load and generate with every single allocation failing in turn, and with all of them failing from each on: the
// process survives, the call reports, nothing leaks, out-parameters stay as they were.
#include <cstring>

#include "capi/failing_malloc.hpp"
#include "capi/support.hpp"

namespace mixtura::capi_test {
namespace {

// One go at everything a host does with `path`.  True where all of it worked.  `is_chat`: with tokenizer and template.
bool go(const std::string& path, bool is_chat, std::string& answer_text) {
    auto* const untouched_model = reinterpret_cast<mixtura_model*>(0x10);
    mixtura_model* opened = untouched_model;
    mixtura_model_options model_options = MIXTURA_MODEL_OPTIONS_INIT;
    model_options.thread_count = 1;
    mixtura_status status = mixtura_model_open(path.c_str(), &model_options, &opened);
    if (status != MIXTURA_OK) {
        if (opened != untouched_model || status > 0) std::abort();
        return false;
    }
    const Model model(opened);
    mixtura_generation_options generation_options = MIXTURA_GENERATION_OPTIONS_INIT;
    generation_options.thread_count = 1;
    generation_options.context_tokens = 64;
    mixtura_request request = MIXTURA_REQUEST_INIT;
    request.tokens_max = 3;
    mixtura_answer answer = MIXTURA_ANSWER_INIT;
    if (is_chat) {
        mixtura_chat_options options = MIXTURA_CHAT_OPTIONS_INIT;
        options.generation = &generation_options;
        options.request = &request;
        mixtura_chat* made = nullptr;
        status = mixtura_chat_create(opened, &options, &made);
        const Chat chat(made);
        if (status != MIXTURA_OK) return made == nullptr ? false : (std::abort(), false);
        if (mixtura_chat_add(made, "user", "Hi", 2) != MIXTURA_OK) return false;
        const std::size_t before = mixtura_chat_message_count(made);
        if (mixtura_chat_reply(made, nullptr, nullptr, &answer) != MIXTURA_OK) {
            if (answer.utf8 != nullptr || mixtura_chat_message_count(made) != before) std::abort();
            return false;
        }
        answer_text.assign(answer.utf8, answer.bytes);
        return true;
    }
    mixtura_generation* made = nullptr;
    status = mixtura_generation_create(opened, &generation_options, &made);
    const Generation generation(made);
    if (status != MIXTURA_OK) return made == nullptr ? false : (std::abort(), false);
    static const std::int32_t prompt[] = {3, 1, 4, 1, 5}, none = 0;
    request.prompt = prompt;
    request.prompt_count = 5;
    request.stop_tokens = &none;
    if (mixtura_generation_run(made, &request, &answer) != MIXTURA_OK) {
        if (answer.tokens != nullptr) std::abort();
        return false;
    }
    answer_text.assign(reinterpret_cast<const char*>(answer.tokens), answer.token_count * sizeof(std::int32_t));
    return true;
}

struct Sweep {
    std::int64_t allocations = 0, failures = 0, survived = 0, leaks = 0, wrong = 0;
    std::int64_t first_leak = 0, first_wrong = 0;
};

// Fails allocation first, first + step, … of one go each.
Sweep sweep(const std::string& path, bool is_chat, std::int64_t step, Failing how) {
    std::string expected, answer;
    expected.reserve(4096);  // so that the test's own texts are no allocation of the go
    answer.reserve(4096);
    for (int warm = 0; warm < 2; ++warm) REQUIRE(go(path, is_chat, expected));
    // A failure once, so that this thread's place for its last message is there before blocks are counted.
    CHECK(mixtura_model_open(nullptr, nullptr, nullptr) == MIXTURA_INVALID_ARGUMENT);
    Sweep result;
    fail_allocation(0, how);
    const std::int64_t held = blocks_held();
    REQUIRE(go(path, is_chat, answer));
    result.allocations = allocations_counted();
    const std::int64_t usual = blocks_held() - held;
    for (std::int64_t n = 1; n <= result.allocations; n += step) {
        const std::int64_t before = blocks_held();
        answer.clear();
        fail_allocation(n, how);
        const bool worked = go(path, is_chat, answer);
        fail_allocation(0, how);
        ++(worked ? result.survived : result.failures);
        // Where one allocation failed and all went well, something did without it: the answer must be the same.
        if (worked && answer != expected && result.wrong++ == 0) result.first_wrong = n;
        if (blocks_held() - before != usual && result.leaks++ == 0) result.first_leak = n;
    }
    return result;
}

void check(const Sweep& result) {
    INFO(result.allocations << " allocations, " << result.failures << " goes failed, " << result.survived
                            << " worked; first leak at " << result.first_leak << ", first wrong answer at "
                            << result.first_wrong);
    CHECK(result.leaks == 0);
    CHECK(result.wrong == 0);
    CHECK(result.failures > 0);
}

}  // namespace

TEST_CASE("Load and generate survive the failure of every single allocation", "[capi][medium]") {
    check(sweep(golden("models/qwen3-moe"), false, 1, Failing::once));
}

TEST_CASE("Load and generate survive memory that ends at any allocation", "[capi][medium]") {
    check(sweep(golden("models/qwen3-moe"), false, 7, Failing::from_then_on));
}

TEST_CASE("A chat with a real vocabulary survives failures all along the way", "[capi][medium]") {
    check(sweep(MIXTURA_SMOLLM2, true, 20011, Failing::once));
}

}  // namespace mixtura::capi_test
