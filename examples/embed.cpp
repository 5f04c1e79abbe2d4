// A host that answers one question with a model: the whole of what embedding takes.
//   embed MODEL "Why is the sky blue?"
#include <mixtura/mixtura.hpp>

#include <cstdio>

namespace {

// Every failure is a value with one sentence: what, where, expected, found.
int complain(const mixtura::Status& status) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(status.message().size()), status.message().data());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: embed MODEL QUESTION\n");
        return 2;
    }
    const auto model = mixtura::Model::open(argv[1]);  // weights, tokenizer and chat template; share it between threads
    if (!model) return complain(model.status());
    mixtura::ChatOptions options;
    options.stop.max_tokens = 200;
    auto chat = mixtura::Chat::create(*model, options);  // its own threads, keys and values
    if (!chat) return complain(chat.status());
    if (const auto status = chat->add("user", argv[2]); !status.is_ok()) return complain(status);
    const auto reply = chat->reply([](std::string_view text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
        return mixtura::Flow::go_on;
    });
    if (!reply) return complain(reply.status());
    std::printf("\n");
    return 0;
}
