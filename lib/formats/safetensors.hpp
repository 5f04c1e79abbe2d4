// The header of a safetensors file: u64 length, a JSON object {name: {dtype, shape, data_offsets}}, then the data.
// Source: the format description in the safetensors repository's README; like the reference reader it refuses holes,
// overlaps and bytes that belong to no tensor.
#pragma once

#include <mixtura/types.hpp>

#include <string>
#include <utility>
#include <vector>

#include "memory/byte_source.hpp"

namespace mixtura {

struct SafetensorsTensor {
    std::string name;
    DType dtype = DType::unknown;
    Shape shape;
    std::uint64_t offset_bytes = 0;  // absolute, in the file
    std::uint64_t size_bytes = 0;
};

struct SafetensorsHeader {
    std::vector<SafetensorsTensor> tensors;                     // ascending by offset
    std::vector<std::pair<std::string, std::string>> metadata;  // "__metadata__"

    // CORRUPT_FILE, UNSUPPORTED (a dtype this version does not know) or IO.  The JSON is parsed as a stream: what a
    // lying length costs ends with the first byte that is no header.
    static Result<SafetensorsHeader> read(const ByteSource& source);
};

}  // namespace mixtura
