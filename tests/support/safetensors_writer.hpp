// Safetensors files for tests, written by code that shares nothing with the reader.
//   SafetensorsFile file;
//   file.tensor("model.norm.weight", "BF16", {64}, bytes);
//   write_file(path, file.bytes());
// A broken header is a text like any other: safetensors_bytes(R"({"a": …})", data).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mixtura::test {

struct SafetensorsFile {
    struct Tensor {
        std::string name, dtype;  // dtype as the format spells it
        std::vector<std::int64_t> shape;
        std::string bytes;
    };
    std::vector<std::pair<std::string, std::string>> metadata;
    std::vector<Tensor> tensors;

    // Names and dtypes go into JSON as they are, so without quotes and backslashes.
    SafetensorsFile& tensor(std::string_view name, std::string_view dtype, const std::vector<std::int64_t>& shape,
                            std::string bytes);
    std::string header() const;  // the JSON text, padded with spaces to a multiple of 8
    std::string bytes() const;
};

// `stated_length` in place of the header's own.
std::string safetensors_bytes(std::string_view header, std::string_view data,
                              std::optional<std::uint64_t> stated_length = {});

}  // namespace mixtura::test
