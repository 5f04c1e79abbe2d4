// GGUF headers, the configuration in their metadata and the warnings about both: every tensor that is listed lies
// inside the file and on no other's bytes.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "formats/gguf.hpp"
#include "formats/model_config.hpp"
#include "formats/model_files.hpp"
#include "memory/byte_source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const mixtura::MemorySource source({reinterpret_cast<const std::byte*>(data), size}, "fuzz.gguf");
    const auto header = mixtura::GgufHeader::read(source);
    if (!header) return 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    mixtura::WeightIndex index;
    for (const mixtura::GgufTensor& tensor : header->tensors()) {
        if (tensor.offset_bytes > size || tensor.size_bytes > size - tensor.offset_bytes) __builtin_trap();
        if (tensor.size_bytes > 0) ranges.emplace_back(tensor.offset_bytes, tensor.offset_bytes + tensor.size_bytes);
        index.tensors.push_back({tensor.name, tensor.dtype, tensor.shape, 0, tensor.offset_bytes, tensor.size_bytes});
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i) {
        if (ranges[i].first < ranges[i - 1].second) __builtin_trap();
    }
    const auto config = mixtura::gguf_model_config(*header, "fuzz.gguf");
    if (!config) return 0;
    if (!config->values.root().is_object()) __builtin_trap();
    (void)mixtura::weight_warnings(config->facts, index);
    return 0;
}
