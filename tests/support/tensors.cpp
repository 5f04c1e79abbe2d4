#include "support/tensors.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>

#include "support/files.hpp"

namespace mixtura::test {
namespace {

Checkpoint opened(std::string_view golden_path) {
    Result<Checkpoint> checkpoint = Checkpoint::open(golden(golden_path));
    if (!checkpoint) throw std::runtime_error(std::string(checkpoint.status().message()));
    return *std::move(checkpoint);
}

}  // namespace

Tensors::Tensors(std::string_view golden_path) : checkpoint_(opened(golden_path)) {}

const TensorInfo& Tensors::info(std::string_view name) const {
    const TensorInfo* found = checkpoint_.find(name);
    if (found == nullptr) throw std::runtime_error("no tensor " + std::string(name) + " in the golden data");
    return *found;
}

std::vector<std::byte> Tensors::bytes(std::string_view name) const {
    const TensorInfo& tensor = info(name);
    std::vector<std::byte> bytes(tensor.size_bytes);
    if (const Status status = checkpoint_.read(tensor, bytes); !status)
        throw std::runtime_error(std::string(status.message()));
    return bytes;
}

std::vector<float> Tensors::floats(std::string_view name) const {
    if (info(name).dtype != DType::f32) throw std::runtime_error("tensor " + std::string(name) + " is not f32");
    const std::vector<std::byte> raw = bytes(name);
    std::vector<float> floats(raw.size() / sizeof(float));
    for (std::size_t i = 0; i < floats.size(); ++i) {
        std::uint32_t bits = 0;
        for (std::size_t k = 0; k < 4; ++k) bits |= std::to_integer<std::uint32_t>(raw[4 * i + k]) << 8 * k;
        floats[i] = std::bit_cast<float>(bits);
    }
    return floats;
}

bool same_bits(float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

std::size_t first_difference(std::span<const float> a, std::span<const float> b) {
    if (a.size() != b.size()) throw std::runtime_error("the lengths to compare differ");
    std::size_t i = 0;
    while (i < a.size() && same_bits(a[i], b[i])) ++i;
    return i;
}

}  // namespace mixtura::test
