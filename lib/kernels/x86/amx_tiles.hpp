// Inside x86/ only: the tile registers of AMX, as an object, for integer_body_amx.hpp.  tests/support/ has another of
// the same form, which plays them on any processor.  Written out and not by the compilers' intrinsics: those of GCC 12
// do not say that they read and write memory, so stores to what a tile is loaded from might come after it.
#pragma once

#include "kernels/x86/isa.hpp"
#include "kernels/x86/tile_shapes.hpp"

namespace mixtura::amx {

#define MIXTURA_TILE_OP MIXTURA_TARGET_AMX MIXTURA_ALWAYS_INLINE

// Of one thread, from configure() to release(): in between the thread carries 8 KiB more state.
struct ProcessorTiles {
    MIXTURA_TILE_OP void configure(const TileShapes& shapes) {
        __asm__ volatile("ldtilecfg %0" : : "m"(shapes) : "memory");
    }
    MIXTURA_TILE_OP void release() { __asm__ volatile("tilerelease" : : : "memory"); }

    template <int kTile>
    MIXTURA_TILE_OP void zero() {
        __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
    }
    // Rows that lie stride_bytes apart.
    template <int kTile>
    MIXTURA_TILE_OP void load(const void* rows, std::int64_t stride_bytes) {
        __asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(kTile), "r"(rows), "r"(stride_bytes) : "memory");
    }
    template <int kTile>
    MIXTURA_TILE_OP void store(void* rows, std::int64_t stride_bytes) {
        __asm__ volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(kTile), "r"(rows), "r"(stride_bytes) : "memory");
    }
    // sums[m][n] += Σ over k of signed a[m][k] · unsigned b[k / 4][4n + k % 4], exactly (modulo 2^32).
    template <int kSums, int kA, int kB>
    MIXTURA_TILE_OP void dot() {
        __asm__ volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kA), "i"(kB));
    }
};

#undef MIXTURA_TILE_OP

}  // namespace mixtura::amx
