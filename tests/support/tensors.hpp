// Tensors of the golden data, and comparison of floats by their bits.
#pragma once

#include <mixtura/checkpoint.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace mixtura::test {

// One safetensors file of tests/golden/data.  Whatever cannot be opened or found throws, which fails the test.
class Tensors {
  public:
    explicit Tensors(std::string_view golden_path);

    const TensorInfo& info(std::string_view name) const;
    bool has(std::string_view name) const { return checkpoint_.find(name) != nullptr; }
    std::vector<std::byte> bytes(std::string_view name) const;  // exactly the tensor's size, on the heap
    std::vector<float> floats(std::string_view name) const;     // of an f32 tensor

  private:
    Checkpoint checkpoint_;
};

// True for equal bit patterns and for two NaNs.
bool same_bits(float a, float b);
// Index of the first pair of which that is not true; the number of elements where there is none.  Throws when the
// lengths differ.
std::size_t first_difference(std::span<const float> a, std::span<const float> b);

}  // namespace mixtura::test
