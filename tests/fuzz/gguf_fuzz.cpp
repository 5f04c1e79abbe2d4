#include <cstdint>

#include "formats/gguf.hpp"
#include "formats/model_config.hpp"
#include "memory/byte_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const mixtura::MemorySource source({reinterpret_cast<const std::byte*>(data), size}, "fuzz.gguf");
    const auto header = mixtura::GgufHeader::read(source);
    if (!header) return 0;
    for (const mixtura::GgufTensor& tensor : header->tensors()) {
        if (tensor.offset_bytes + tensor.size_bytes > size) __builtin_trap();  // what read() promises
    }
    const auto config = mixtura::gguf_model_config(*header, "fuzz.gguf");
    if (config && config->values.root().kind() != mixtura::JsonKind::object) __builtin_trap();
    return 0;
}
