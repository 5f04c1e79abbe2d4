// Shapes, weights and activations out of a fuzzer's bytes, for kernels_fuzz.cpp.  A few bytes choose a way to fill
// whole arrays, since arithmetic goes wrong by the kind of number far more than by the number; single elements are then
// overwritten as further bytes say.  Past the end every byte is 0, so any input is one.  Callers read one value a
// statement or within braces, where C++ fixes the order: an input means the same to every compiler.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/quant/half.hpp"
#include "support/weights.hpp"

namespace mixtura::test {

class KernelInput {
  public:
    KernelInput(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

    std::uint32_t byte() { return at_ < bytes_.size() ? bytes_[at_++] : 0; }
    std::uint32_t word() {
        const std::uint32_t low = byte();
        return low | byte() << 8;
    }
    std::uint32_t wide() {
        const std::uint32_t low = word();
        return low | word() << 16;
    }
    bool flag() { return byte() % 2 != 0; }
    std::int64_t number(std::int64_t first, std::int64_t last) { return first + word() % (last - first + 1); }

    // Where formulas bend: ends of f32's and f16's ranges, the thresholds of quantisation, exp, tanh and erf, no
    // number.
    float special() {
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        static constexpr float kSpecial[] = {0.0F,       1.0F,     kInfinity, std::numeric_limits<float>::quiet_NaN(),
                                             0x1p-149F,  1e-39F,   0x1p-126F, 0x1.FFFFFEp127F,
                                             0x1p-100F,  127.0F,   1000.0F,   0x1.FFFFFEp-101F,
                                             0x1.8p23F,  65504.0F, 65520.0F,  0x1p-25F,
                                             88.722839F, 104.0F,   0.6F,      4.0F};
        const std::uint32_t choice = byte();
        if (choice % 32 >= std::size(kSpecial)) return f32_from_bits(wide());
        return choice >= 128 ? -kSpecial[choice % 32] : kSpecial[choice % 32];
    }

    std::vector<float> floats(std::int64_t count) {
        const std::uint32_t kind = byte() % 10;
        Random random(word());
        std::vector<float> x(static_cast<std::size_t>(count));
        const float chosen = kind == 8 ? special() : 0.0F;
        for (std::size_t k = 0; k < x.size(); ++k) {
            const float value = random.gaussian();
            switch (kind) {
                case 1: x[k] = k / 32 % 2 == 0 ? 0.0F : value; break;
                case 2: x[k] = random.bits() % 64 == 0 ? value * 1000.0F : value; break;
                case 3: x[k] = value * 0x1p-130F; break;
                case 4: x[k] = value * std::ldexp(1.0F, -100 + static_cast<int>(k / 32 % 3) - 1); break;
                case 5: x[k] = value * std::exp2(random.uniform() * 120.0F); break;
                case 6: x[k] = f32_from_bits(random.bits()); break;
                case 7: x[k] = std::nearbyint(value * 2.0F); break;
                case 8: x[k] = random.bits() % 8 == 0 ? chosen : value; break;
                case 9: x[k] = value < 0 ? -3.0F : 3.0F; break;
                default: x[k] = value; break;
            }
        }
        for (std::uint32_t edits = byte() % 8; edits > 0; --edits) {
            const std::size_t at = word() % x.size();
            x[at] = special();
        }
        return x;
    }

    // File bytes of [rows, columns]: tame, without sense, extreme codes; with some blocks zero or of extreme scale.
    std::vector<std::byte> weights(DType dtype, std::int64_t rows, std::int64_t columns) {
        const std::uint32_t kind = byte() % 4, seed = word();
        std::vector<std::byte> rows_bytes =
            kind == 1 ? arbitrary_weights(dtype, rows, columns, seed) : random_weights(dtype, rows, columns, seed);
        const auto block_bytes = static_cast<std::size_t>(dtype_info(dtype).block_bytes);
        if (kind >= 2) std::fill(rows_bytes.begin(), rows_bytes.end(), kind == 2 ? std::byte{0xFF} : std::byte{0x80});
        // Zero, the smallest, the largest of either sign, infinite, none, one, any.
        static constexpr std::uint16_t kHalves[] = {0, 0x0001, 0x7BFF, 0xFBFF, 0x7C00, 0x7E00, 0x3C00};
        const std::uint32_t scale = byte() % 16, every = 1 + byte() % 4;
        if (scale < 8) {
            const auto half = static_cast<std::uint16_t>(scale < 7 ? kHalves[scale] : word());
            for (std::size_t at = 0; at < rows_bytes.size(); at += block_bytes * every)
                set_scales(dtype, rows_bytes.data() + at, half);
        } else if (scale == 8) {
            for (std::size_t at = 0; at < rows_bytes.size(); at += block_bytes * every)
                std::fill_n(rows_bytes.data() + at, block_bytes, std::byte{0});
        }
        for (std::uint32_t edits = byte() % 8; edits > 0; --edits) {
            const std::size_t at = wide() % rows_bytes.size();
            rows_bytes[at] = static_cast<std::byte>(byte());
        }
        return rows_bytes;
    }

  private:
    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
};

// `count` elements at the end of their memory and `offset` elements behind its beginning: a sanitizer sees whoever goes
// on, and nobody may count on alignment.
template <class Element>
class Misplaced {
  public:
    Misplaced(std::span<const Element> values, std::int64_t offset)
        : offset_(static_cast<std::size_t>(offset)), memory_(offset_ + values.size()) {
        std::copy(values.begin(), values.end(), memory_.begin() + offset);
    }
    Misplaced(std::int64_t count, Element value, std::int64_t offset)
        : offset_(static_cast<std::size_t>(offset)), memory_(offset_ + static_cast<std::size_t>(count), value) {}

    Element* data() { return memory_.data() + offset_; }
    std::span<const Element> view() const { return std::span(memory_).subspan(offset_); }

  private:
    std::size_t offset_;
    std::vector<Element> memory_;
};

}  // namespace mixtura::test
