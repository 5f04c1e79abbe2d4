#include <cstdint>

#include "formats/safetensors.hpp"
#include "memory/byte_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const mixtura::MemorySource source({reinterpret_cast<const std::byte*>(data), size}, "fuzz.safetensors");
    const auto header = mixtura::SafetensorsHeader::read(source);
    if (!header) return 0;
    std::uint64_t expected = header->tensors.empty() ? size : header->tensors[0].offset_bytes;
    for (const mixtura::SafetensorsTensor& tensor : header->tensors) {
        if (tensor.offset_bytes != expected) __builtin_trap();  // no hole, no overlap
        expected += tensor.size_bytes;
    }
    if (expected != size) __builtin_trap();
    return 0;
}
