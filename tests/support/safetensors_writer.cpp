#include "support/safetensors_writer.hpp"

#include "support/gguf_writer.hpp"

namespace mixtura::test {

SafetensorsFile& SafetensorsFile::tensor(std::string_view name, std::string_view dtype,
                                         const std::vector<std::int64_t>& shape, std::string bytes) {
    tensors.push_back({std::string(name), std::string(dtype), shape, std::move(bytes)});
    return *this;
}

std::string SafetensorsFile::header() const {
    std::string out = "{";
    const auto separator = [&out] { return out.size() > 1 ? "," : ""; };
    if (!metadata.empty()) {
        out += "\"__metadata__\":{";
        for (std::size_t i = 0; i < metadata.size(); ++i) {
            out += (i == 0 ? "\"" : ",\"") + metadata[i].first + "\":\"" + metadata[i].second + "\"";
        }
        out += '}';
    }
    std::size_t begin = 0;
    for (const Tensor& tensor : tensors) {
        out += separator() + ("\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[");
        for (std::size_t i = 0; i < tensor.shape.size(); ++i)
            out += (i == 0 ? "" : ",") + std::to_string(tensor.shape[i]);
        const std::size_t end = begin + tensor.bytes.size();
        out += "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
        begin = end;
    }
    out += '}';
    out.resize((out.size() + 7) / 8 * 8, ' ');
    return out;
}

std::string SafetensorsFile::bytes() const {
    std::string data;
    for (const Tensor& tensor : tensors) data += tensor.bytes;
    return safetensors_bytes(header(), data);
}

std::string safetensors_bytes(std::string_view header, std::string_view data,
                              std::optional<std::uint64_t> stated_length) {
    return bytes_of<std::uint64_t>(stated_length.value_or(header.size())) + std::string(header) + std::string(data);
}

}  // namespace mixtura::test
