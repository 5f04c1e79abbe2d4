// The layouts of GGUF's block formats, byte for byte as in the file, and of our own at the end.  Fields are bytes or
// Le16/Le32, so a struct has alignment 1 and no padding; each static_assert is the block size of the GGUF
// specification.  kElements consecutive weights of one row share a block.  What the fields mean is said where they are
// decoded (q_legacy, q_k, iq, ternary, fp4, scaled .cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quant/little_endian.hpp"

namespace mixtura {

struct BlockQ4_0 {
    static constexpr std::size_t kElements = 32;
    Le16 d;               // f16 scale
    std::uint8_t qs[16];  // codes of elements i (low half) and i + 16 (high half)
};
static_assert(sizeof(BlockQ4_0) == 18);

struct BlockQ4_1 {
    static constexpr std::size_t kElements = 32;
    Le16 d;  // f16 scale
    Le16 m;  // f16 minimum
    std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

struct BlockQ5_0 {
    static constexpr std::size_t kElements = 32;
    Le16 d;
    Le32 qh;  // bit i: the fifth bit of element i
    std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

struct BlockQ5_1 {
    static constexpr std::size_t kElements = 32;
    Le16 d;
    Le16 m;
    Le32 qh;
    std::uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

struct BlockQ8_0 {
    static constexpr std::size_t kElements = 32;
    Le16 d;
    std::int8_t qs[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

struct BlockQ8_1 {
    static constexpr std::size_t kElements = 32;
    Le16 d;
    Le16 s;  // f16 d · Σ qs, for kernels that need it; no part of the values
    std::int8_t qs[32];
};
static_assert(sizeof(BlockQ8_1) == 36);

struct BlockQ2_K {
    static constexpr std::size_t kElements = 256;
    std::uint8_t scales[16];  // of 16 elements each: scale code (low half), minimum code (high half)
    std::uint8_t qs[64];      // 2-bit codes
    Le16 d;                   // f16, multiplies the scale codes
    Le16 dmin;                // f16, multiplies the minimum codes
};
static_assert(sizeof(BlockQ2_K) == 84);

struct BlockQ3_K {
    static constexpr std::size_t kElements = 256;
    std::uint8_t hmask[32];   // the codes' third bits
    std::uint8_t qs[64];      // the codes' lower two bits
    std::uint8_t scales[12];  // sixteen 6-bit scale codes
    Le16 d;
};
static_assert(sizeof(BlockQ3_K) == 110);

struct BlockQ4_K {
    static constexpr std::size_t kElements = 256;
    Le16 d;
    Le16 dmin;
    std::uint8_t scales[12];  // eight 6-bit scale codes and eight 6-bit minimum codes
    std::uint8_t qs[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

struct BlockQ5_K {
    static constexpr std::size_t kElements = 256;
    Le16 d;
    Le16 dmin;
    std::uint8_t scales[12];  // as in q4_k
    std::uint8_t qh[32];      // the codes' fifth bits
    std::uint8_t qs[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

struct BlockQ6_K {
    static constexpr std::size_t kElements = 256;
    std::uint8_t ql[128];    // the codes' lower four bits
    std::uint8_t qh[64];     // the codes' upper two bits
    std::int8_t scales[16];  // of 16 elements each
    Le16 d;
};
static_assert(sizeof(BlockQ6_K) == 210);

struct BlockQ8_K {
    static constexpr std::size_t kElements = 256;
    Le32 d;  // f32
    std::int8_t qs[256];
    Le16 bsums[16];  // sums of 16 codes each, for kernels that need them; no part of the values
};
static_assert(sizeof(BlockQ8_K) == 292);

struct BlockIq1S {
    static constexpr std::size_t kElements = 256;
    Le16 d;
    std::uint8_t qs[32];  // lower 8 bits of the grid index of 8 elements each
    Le16 qh[8];           // of 32 elements each: upper 3 bits of four indices, 3-bit scale code, sign of the shift
};
static_assert(sizeof(BlockIq1S) == 50);

struct BlockIq1M {
    static constexpr std::size_t kElements = 256;
    std::uint8_t qs[32];  // lower 8 bits of the grid index of 8 elements each
    std::uint8_t qh[16];  // of 8 elements each, 4 bits: upper 3 bits of the index, sign of the shift
    Le16 scales[4];       // four 3-bit scale codes each; the upper 4 bits of all four are the f16 d
};
static_assert(sizeof(BlockIq1M) == 56);

struct BlockIq2Xxs {
    static constexpr std::size_t kElements = 256;
    struct Group {                // 32 elements
        std::uint8_t indices[4];  // grid index of 8 elements each
        Le32 signs_scale;         // four 7-bit sign codes, then a 4-bit scale code
    };
    Le16 d;
    Group groups[8];
};
static_assert(sizeof(BlockIq2Xxs) == 66);

struct BlockIq2Xs {
    static constexpr std::size_t kElements = 256;
    Le16 d;
    Le16 qs[32];             // of 8 elements each: 9-bit grid index, 7-bit sign code
    std::uint8_t scales[8];  // 4-bit scale codes of 16 elements each
};
static_assert(sizeof(BlockIq2Xs) == 74);

struct BlockIq2S {
    static constexpr std::size_t kElements = 256;
    Le16 d;
    std::uint8_t qs[32];     // lower 8 bits of the grid index of 8 elements each
    std::uint8_t signs[32];  // one bit an element
    std::uint8_t qh[8];      // upper 2 bits of four indices each
    std::uint8_t scales[8];  // 4-bit scale codes of 16 elements each
};
static_assert(sizeof(BlockIq2S) == 82);

struct BlockIq3Xxs {
    static constexpr std::size_t kElements = 256;
    Le16 d;
    std::uint8_t qs[64];  // grid index of 4 elements each
    Le32 signs_scale[8];  // of 32 elements each: four 7-bit sign codes, then a 4-bit scale code
};
static_assert(sizeof(BlockIq3Xxs) == 98);

struct BlockIq3S {
    static constexpr std::size_t kElements = 256;
    Le16 d;
    std::uint8_t qs[64];     // lower 8 bits of the grid index of 4 elements each
    std::uint8_t qh[8];      // the ninth bit of eight indices each
    std::uint8_t signs[32];  // one bit an element
    std::uint8_t scales[4];  // 4-bit scale codes of 32 elements each
};
static_assert(sizeof(BlockIq3S) == 110);

struct BlockIq4Nl {
    static constexpr std::size_t kElements = 32;
    Le16 d;
    std::uint8_t qs[16];
};
static_assert(sizeof(BlockIq4Nl) == 18);

struct BlockIq4Xs {
    static constexpr std::size_t kElements = 256;
    Le16 d;
    Le16 scales_h;             // upper 2 bits of the scale codes of 32 elements each
    std::uint8_t scales_l[4];  // lower 4 bits
    std::uint8_t qs[128];
};
static_assert(sizeof(BlockIq4Xs) == 136);

struct BlockTq1_0 {
    static constexpr std::size_t kElements = 256;
    std::uint8_t qs[48];  // five ternary digits a byte
    std::uint8_t qh[4];   // four ternary digits a byte
    Le16 d;
};
static_assert(sizeof(BlockTq1_0) == 54);

struct BlockTq2_0 {
    static constexpr std::size_t kElements = 256;
    std::uint8_t qs[64];  // 2-bit codes
    Le16 d;
};
static_assert(sizeof(BlockTq2_0) == 66);

struct BlockMxfp4 {
    static constexpr std::size_t kElements = 32;
    std::uint8_t e;  // e8m0 scale
    std::uint8_t qs[16];
};
static_assert(sizeof(BlockMxfp4) == 17);

struct BlockNvfp4 {
    static constexpr std::size_t kElements = 64;
    std::uint8_t d[4];  // unsigned e4m3 scales of 16 elements each
    std::uint8_t qs[32];
};
static_assert(sizeof(BlockNvfp4) == 36);

// ---- ours: rows of what checkpoints store in several tensors (scaled_format.hpp, integer_format.hpp;
// weights/packed_rows.cpp makes them)

template <std::size_t kCount>
struct BlockE4m3 {
    static constexpr std::size_t kElements = kCount;
    Le32 scale;  // f32
    std::uint8_t codes[kCount];
};
static_assert(sizeof(BlockE4m3<32>) == 36 && sizeof(BlockE4m3<128>) == 132);

template <std::size_t kCount>
struct BlockInt4 {
    static constexpr std::size_t kElements = kCount;
    Le16 d;                       // f16 scale
    std::uint8_t zero;            // of which the lower five bits count
    std::uint8_t qs[kCount / 2];  // of 32 elements each 16 bytes: i in the low halves, i + 16 in the high ones
};
static_assert(sizeof(BlockInt4<32>) == 19 && sizeof(BlockInt4<64>) == 35 && sizeof(BlockInt4<128>) == 67);

struct BlockNf4 {
    static constexpr std::size_t kElements = 64;
    Le32 scale;           // f32
    std::uint8_t qs[32];  // elements 2i in the high halves, 2i + 1 in the low ones, as bitsandbytes has them
};
static_assert(sizeof(BlockNf4) == 36);

}  // namespace mixtura
