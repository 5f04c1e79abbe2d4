#include <cstddef>
#include <cstdint>

#include "fuzz/tokenizer_use.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const auto state = mixtura::read_sentencepiece_model(input, "fuzz.model");
    if (state && mixtura::finish_state(**state).is_ok())
        mixtura::fuzz::use(*state, "Hello wörld 123  <s>\n\xFF 你好 ﬁ");
    return 0;
}
