// Inside kernels/quant only: the twelve bytes in which Q4_K and Q5_K keep eight 6-bit scale codes S0…S7 and eight 6-bit
// minimum codes M0…M7.  Bytes 0…3 hold S0…S3 and, on top, the upper two bits of S4…S7; bytes 4…7 the same of M; bytes
// 8…11 the lower four bits of S4…S7 (low halves) and of M4…M7 (high halves).
// Source: the GGUF specification.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mixtura::detail {

struct ScaleMinCodes {
    unsigned scale;    // 0 … 63
    unsigned minimum;  // 0 … 63
};

constexpr ScaleMinCodes load_scale_min(const std::uint8_t (&bytes)[12], std::size_t sub_block) noexcept {
    const std::size_t i = sub_block % 4;
    if (sub_block < 4) return {bytes[i] & 0x3FU, bytes[4 + i] & 0x3FU};
    return {(bytes[8 + i] & 0xFU) | (bytes[i] >> 6 & 3U) << 4, bytes[8 + i] >> 4U | (bytes[4 + i] >> 6 & 3U) << 4};
}

// `bytes` start as zeros; sub-blocks in any order, each once.
constexpr void store_scale_min(std::uint8_t (&bytes)[12], std::size_t sub_block, ScaleMinCodes codes) noexcept {
    const std::size_t i = sub_block % 4;
    const auto add = [&bytes](std::size_t at, unsigned bits) {
        bytes[at] = static_cast<std::uint8_t>(bytes[at] | bits);
    };
    if (sub_block < 4) {
        add(i, codes.scale);
        add(4 + i, codes.minimum);
    } else {
        add(i, codes.scale >> 4 << 6);
        add(4 + i, codes.minimum >> 4 << 6);
        add(8 + i, (codes.scale & 0xFU) | (codes.minimum & 0xFU) << 4);
    }
}

}  // namespace mixtura::detail
