// The 64 bytes that LDTILECFG reads (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 18.3):
// which rows and columns of each tile register are in use.
#pragma once

#include <cstdint>

namespace mixtura::amx {

inline constexpr int kTileRows = 16, kTileRowBytes = 64;  // of palette 1, at most

struct alignas(64) TileShapes {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;  // where an interrupted load or store goes on
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {};  // of registers 0 to 7
    std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileShapes) == 64);

}  // namespace mixtura::amx
