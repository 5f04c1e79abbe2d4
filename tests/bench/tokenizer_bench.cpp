// How fast a vocabulary encodes and decodes a file on one thread.  Run by hand or by tokenizer_peer.py, which sets it
// beside the tokenizers package; never a test of its own, since time on a shared machine proves nothing.
//   tokenizer_bench MODEL FILE [ROUNDS]      prints "encode MB/s", one line a round, then the same for decoding
#include <mixtura/tokenizer.hpp>

#include <chrono>
#include <cstdio>
#include <string>

#include "base/number.hpp"
#include "memory/file.hpp"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int fail(const mixtura::Status& status) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(status.message().size()), status.message().data());
    return 1;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        std::fprintf(stderr, "usage: tokenizer_bench MODEL FILE [ROUNDS]\n");
        return 2;
    }
    const int rounds = count > 3 ? mixtura::parse_integer<int>(arguments[3]).value_or(3) : 3;
    const auto tokenizer = mixtura::Tokenizer::open(arguments[1]);
    if (!tokenizer) return fail(tokenizer.status());
    const auto text = mixtura::read_whole_file(arguments[2], 1 << 30);
    if (!text) return fail(text.status());
    const double megabytes = static_cast<double>(text->size()) / 1e6;
    for (int round = 0; round < rounds; ++round) {
        auto start = std::chrono::steady_clock::now();
        const auto ids = tokenizer->encode(*text, {.add_bos = mixtura::AddBos::no});
        const double encode = seconds_since(start);
        if (!ids) return fail(ids.status());
        start = std::chrono::steady_clock::now();
        const auto back = tokenizer->decode(*ids, {.skip_special = false});
        const double decode = seconds_since(start);
        if (!back) return fail(back.status());
        std::printf("encode %.2f MB/s, decode %.2f MB/s, %zu ids, %s\n", megabytes / encode, megabytes / decode,
                    ids->size(), *back == *text ? "same text back" : "another text back");
    }
    return 0;
}
