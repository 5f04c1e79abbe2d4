// The tile registers of AMX, played by the processor's manual: a class of the same form as amx_tiles.hpp's, for
// integer_body_amx.hpp on processors without them.  What a processor answers with a fault is a trap here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "kernels/x86/tile_shapes.hpp"

namespace mixtura::test {

class PlayedTiles {
  public:
    PlayedTiles() = default;
    PlayedTiles(const PlayedTiles&) = delete;
    PlayedTiles& operator=(const PlayedTiles&) = delete;
    ~PlayedTiles() { expect(!is_configured_); }  // whoever configures releases

    void configure(const amx::TileShapes& shapes) {
        expect(shapes.palette == 1 && shapes.start_row == 0);
        for (const std::uint8_t byte : shapes.reserved) expect(byte == 0);
        for (int i = 0; i < 16; ++i) {
            expect(shapes.rows[i] <= amx::kTileRows && shapes.row_bytes[i] <= amx::kTileRowBytes);
            expect((shapes.rows[i] == 0) == (shapes.row_bytes[i] == 0));
            expect(i < kTiles || shapes.rows[i] == 0);
        }
        shapes_ = shapes;
        std::memset(tiles_, 0, sizeof tiles_);
        is_configured_ = true;
    }
    void release() {
        std::memset(tiles_, 0, sizeof tiles_);
        is_configured_ = false;
    }

    template <int kTile>
    void zero() {
        expect_used(kTile);
        std::memset(tiles_[kTile], 0, sizeof tiles_[kTile]);
    }
    template <int kTile>
    void load(const void* rows, std::int64_t stride_bytes) {
        zero<kTile>();
        for (std::int64_t m = 0; m < shapes_.rows[kTile]; ++m) {
            std::memcpy(tiles_[kTile][m], static_cast<const std::byte*>(rows) + m * stride_bytes,
                        shapes_.row_bytes[kTile]);
        }
    }
    template <int kTile>
    void store(void* rows, std::int64_t stride_bytes) {
        expect_used(kTile);
        for (std::int64_t m = 0; m < shapes_.rows[kTile]; ++m) {
            std::memcpy(static_cast<std::byte*>(rows) + m * stride_bytes, tiles_[kTile][m], shapes_.row_bytes[kTile]);
        }
    }
    // tdpbsud: bytes of kA are signed, those of kB are not.
    template <int kSums, int kA, int kB>
    void dot() {
        for (const int tile : {kSums, kA, kB}) expect_used(tile);
        expect(kSums != kA && kSums != kB && kA != kB);
        expect(shapes_.row_bytes[kSums] % 4 == 0 && shapes_.row_bytes[kA] % 4 == 0);
        expect(shapes_.rows[kSums] == shapes_.rows[kA] && shapes_.row_bytes[kSums] == shapes_.row_bytes[kB]);
        expect(shapes_.row_bytes[kA] / 4 == shapes_.rows[kB]);
        for (int m = 0; m < shapes_.rows[kSums]; ++m) {
            for (int n = 0; n < shapes_.row_bytes[kSums] / 4; ++n) {
                std::uint32_t sum = 0;
                std::memcpy(&sum, &tiles_[kSums][m][4 * n], sizeof sum);
                for (int k = 0; k < shapes_.row_bytes[kA]; ++k) {
                    const int a = static_cast<std::int8_t>(tiles_[kA][m][k]), b = tiles_[kB][k / 4][4 * n + k % 4];
                    sum += static_cast<std::uint32_t>(a * b);
                }
                std::memcpy(&tiles_[kSums][m][4 * n], &sum, sizeof sum);
            }
        }
    }

  private:
    static constexpr int kTiles = 8;

    static void expect(bool is_so) {
        if (!is_so) __builtin_trap();
    }
    void expect_used(int tile) const { expect(is_configured_ && shapes_.rows[tile] != 0); }

    bool is_configured_ = false;
    amx::TileShapes shapes_;
    std::uint8_t tiles_[kTiles][amx::kTileRows][amx::kTileRowBytes];
};

}  // namespace mixtura::test
