// tokenizer.model, and the vocabulary of a GGUF file: any bytes are refused or make one that keeps its promises.
#include <cstdint>

#include "fuzz/exercise_tokenizer.hpp"
#include "memory/byte_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    if (input.starts_with("GGUF")) {
        const mixtura::MemorySource source({reinterpret_cast<const std::byte*>(data), size}, "fuzz.gguf");
        const auto header = mixtura::GgufHeader::read(source);
        if (!header) return 0;
        const auto state = mixtura::read_gguf_vocabulary(*header, "fuzz.gguf");
        if (state) mixtura::test::exercise_tokenizer(*state, input);
        return 0;
    }
    const auto state = mixtura::read_sentencepiece_model(input, "fuzz.model");
    if (state) mixtura::test::exercise_tokenizer(*state, input);
    return 0;
}
