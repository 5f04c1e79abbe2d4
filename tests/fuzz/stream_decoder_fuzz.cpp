// Ids out of the input's bytes through the stream decoder of three small vocabularies: whole UTF-8 at every step, and
// together what decode() gives at once.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/text.hpp"
#include "support/files.hpp"

#include <mixtura/tokenizer.hpp>

using namespace mixtura;

namespace {

Tokenizer open(const char* path) {
    auto tokenizer = Tokenizer::open(test::golden(path));
    if (!tokenizer) __builtin_trap();
    return *std::move(tokenizer);
}

void run(const Tokenizer& tokenizer, const std::vector<std::uint16_t>& words) {
    std::vector<TokenId> ids;
    for (const std::uint16_t word : words) ids.push_back(static_cast<TokenId>(word % tokenizer.size()));
    for (const bool skips : {true, false}) {
        const auto whole = tokenizer.decode(ids, {.skip_special = skips});
        auto stream = StreamDecoder::create(tokenizer, {.skip_special = skips});
        if (!whole || !stream) __builtin_trap();
        std::string streamed;
        for (const TokenId id : ids) {
            const auto piece = stream->push(id);
            if (!piece || !is_utf8(*piece)) __builtin_trap();
            streamed += *piece;
        }
        const auto rest = stream->finish();
        if (!rest || !is_utf8(*rest)) __builtin_trap();
        streamed += *rest;
        if (streamed != *whole) __builtin_trap();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Tokenizer kTokenizers[] = {open("tokenizers/bpe-llama3/tokenizer.json"),
                                            open("tokenizers/spm-bpe/tokenizer.model"),
                                            open("tokenizers/unigram/vocab.gguf")};
    std::vector<std::uint16_t> words;
    for (std::size_t i = 0; i + 1 < size; i += 2)
        words.push_back(static_cast<std::uint16_t>(data[i] | data[i + 1] << 8));
    for (const Tokenizer& tokenizer : kTokenizers) run(tokenizer, words);
    return 0;
}
