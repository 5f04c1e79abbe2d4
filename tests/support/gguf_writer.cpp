#include "support/gguf_writer.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace mixtura::test {
namespace {

std::uint64_t aligned(std::uint64_t bytes, std::uint64_t alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
}

// Name, number and block of the format's element types, as ggml.h has them.
struct ElementType {
    DType dtype;
    std::uint32_t number;
    std::uint64_t block_elements, block_bytes;
};
constexpr std::array kElementTypes{
    ElementType{DType::f32, 0, 1, 4},         ElementType{DType::f16, 1, 1, 2},
    ElementType{DType::q4_0, 2, 32, 18},      ElementType{DType::q4_1, 3, 32, 20},
    ElementType{DType::q5_0, 6, 32, 22},      ElementType{DType::q5_1, 7, 32, 24},
    ElementType{DType::q8_0, 8, 32, 34},      ElementType{DType::q8_1, 9, 32, 36},
    ElementType{DType::q2_k, 10, 256, 84},    ElementType{DType::q3_k, 11, 256, 110},
    ElementType{DType::q4_k, 12, 256, 144},   ElementType{DType::q5_k, 13, 256, 176},
    ElementType{DType::q6_k, 14, 256, 210},   ElementType{DType::q8_k, 15, 256, 292},
    ElementType{DType::iq2_xxs, 16, 256, 66}, ElementType{DType::iq2_xs, 17, 256, 74},
    ElementType{DType::iq3_xxs, 18, 256, 98}, ElementType{DType::iq1_s, 19, 256, 50},
    ElementType{DType::iq4_nl, 20, 32, 18},   ElementType{DType::iq3_s, 21, 256, 110},
    ElementType{DType::iq2_s, 22, 256, 82},   ElementType{DType::iq4_xs, 23, 256, 136},
    ElementType{DType::i8, 24, 1, 1},         ElementType{DType::i16, 25, 1, 2},
    ElementType{DType::i32, 26, 1, 4},        ElementType{DType::i64, 27, 1, 8},
    ElementType{DType::f64, 28, 1, 8},        ElementType{DType::iq1_m, 29, 256, 56},
    ElementType{DType::bf16, 30, 1, 2},       ElementType{DType::tq1_0, 34, 256, 54},
    ElementType{DType::tq2_0, 35, 256, 66},   ElementType{DType::mxfp4, 39, 32, 17},
    ElementType{DType::nvfp4, 40, 64, 36},
};

const ElementType& element_type(DType dtype) {
    const auto* found = std::find_if(kElementTypes.begin(), kElementTypes.end(),
                                     [dtype](const auto& type) { return type.dtype == dtype; });
    if (found == kElementTypes.end())
        throw std::runtime_error("GGUF has no element type " + std::string(dtype_name(dtype)));
    return *found;
}

}  // namespace

std::uint32_t gguf_element_type(DType dtype) { return element_type(dtype).number; }

std::string gguf_string(std::string_view text) { return bytes_of<std::uint64_t>(text.size()) + std::string(text); }

std::string gguf_array(std::uint32_t type, std::uint64_t count, std::string_view elements) {
    return bytes_of(type) + bytes_of(count) + std::string(elements);
}

GgufFile& GgufFile::add_array(std::string_view key, const std::vector<std::string>& elements) {
    std::string bytes;
    for (const std::string& element : elements) bytes += gguf_string(element);
    return add_raw(key, kGgufArray, gguf_array(kGgufString, elements.size(), bytes));
}

GgufFile& GgufFile::add_raw(std::string_view key, std::uint32_t type, std::string value) {
    metadata.push_back({std::string(key), type, std::move(value)});
    return *this;
}

GgufFile& GgufFile::set_alignment(std::uint32_t bytes) {
    alignment_bytes = bytes;
    return add("general.alignment", bytes);
}

GgufFile& GgufFile::tensor(std::string_view name, DType dtype, const std::vector<std::int64_t>& shape,
                           std::string bytes) {
    const ElementType& type = element_type(dtype);
    std::uint64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= static_cast<std::uint64_t>(extent);
    if (bytes.empty()) bytes.resize(elements / type.block_elements * type.block_bytes);
    tensors.push_back({std::string(name), {shape.rbegin(), shape.rend()}, type.number, std::move(bytes), {}, {}});
    return *this;
}

std::string GgufFile::header() const {
    std::string out = magic + bytes_of(version) + bytes_of(tensor_count.value_or(tensors.size())) +
                      bytes_of(metadata_count.value_or(metadata.size()));
    for (const Entry& entry : metadata) out += gguf_string(entry.key) + bytes_of(entry.type) + entry.value;
    std::uint64_t next = 0;
    for (const Tensor& tensor : tensors) {
        out += gguf_string(tensor.name) +
               bytes_of(tensor.rank.value_or(static_cast<std::uint32_t>(tensor.extents.size())));
        for (const std::uint64_t extent : tensor.extents) out += bytes_of(extent);
        out += bytes_of(tensor.type) + bytes_of(tensor.offset.value_or(next));
        next += aligned(tensor.bytes.size(), alignment_bytes);
    }
    return out;
}

std::string GgufFile::bytes() const {
    std::string out = header();
    for (const Tensor& tensor : tensors) {
        out.resize(aligned(out.size(), alignment_bytes));
        out += tensor.bytes;
    }
    return out;
}

std::vector<GgufFile> split_gguf(const GgufFile& model, std::size_t part_count) {
    std::vector<GgufFile> parts(part_count);
    parts[0].metadata = model.metadata;
    for (std::size_t i = 0; i < model.tensors.size(); ++i)
        parts[i * part_count / model.tensors.size()].tensors.push_back(model.tensors[i]);
    for (std::size_t part = 0; part < part_count; ++part) {
        parts[part].version = model.version;
        parts[part].alignment_bytes = model.alignment_bytes;
        parts[part]
            .add("split.no", static_cast<std::uint16_t>(part))
            .add("split.count", static_cast<std::uint16_t>(part_count));
        parts[part].add("split.tensors.count", static_cast<std::int32_t>(model.tensors.size()));
    }
    return parts;
}

}  // namespace mixtura::test
