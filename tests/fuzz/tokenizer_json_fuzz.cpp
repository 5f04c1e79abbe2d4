// tokenizer.json: any bytes are refused or make a vocabulary that keeps its promises.
#include <cstdint>

#include "fuzz/exercise_tokenizer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const auto state = mixtura::read_tokenizer_json(input, "fuzz.json");
    if (state) mixtura::test::exercise_tokenizer(*state, input);
    return 0;
}
