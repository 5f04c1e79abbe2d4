// Inside kernels/quant only: the families of formats, each with its own file and its own choice by dtype.  decode.cpp
// and encode.cpp ask them one after another; a new format touches its family alone.
#pragma once

#include "kernels/quant/decode.hpp"
#include "kernels/quant/encode.hpp"
#include "kernels/quant/little_endian.hpp"

namespace mixtura::detail {

DecodeBlocks plain_decoder(DType dtype) noexcept;    // f64 to f4
DecodeBlocks legacy_decoder(DType dtype) noexcept;   // q4_0 to q8_1
DecodeBlocks k_decoder(DType dtype) noexcept;        // q2_k to q8_k
DecodeBlocks iq_decoder(DType dtype) noexcept;       // iq1_s to iq4_xs
DecodeBlocks ternary_decoder(DType dtype) noexcept;  // tq1_0, tq2_0
DecodeBlocks fp4_decoder(DType dtype) noexcept;      // mxfp4, nvfp4
DecodeBlocks scaled_decoder(DType dtype) noexcept;   // f8_e4m3_32 to nf4

EncodeBlocks plain_encoder(DType dtype) noexcept;   // f32, f16, bf16
EncodeBlocks legacy_encoder(DType dtype) noexcept;  // q4_0 to q8_0
EncodeBlocks q45_k_encoder(DType dtype) noexcept;  // q4_k, q5_k
EncodeBlocks q6_k_encoder(DType dtype) noexcept;
EncodeBlocks ternary_encoder(DType dtype) noexcept;  // tq1_0, tq2_0
EncodeBlocks fp4_encoder(DType dtype) noexcept;      // mxfp4
EncodeBlocks scaled_encoder(DType dtype) noexcept;   // f8_e4m3_32 to nf4, iq4_nl

// A function on one block as a function on a run of them.
template <class Block, void (*kDecode)(const Block&, float*) noexcept>
void decode_each(const std::byte* packed, float* values, std::size_t block_count) noexcept {
    for (std::size_t i = 0; i < block_count; ++i) {
        kDecode(load_field<Block>(packed, i), values + i * Block::kElements);
    }
}

template <class Block, void (*kEncode)(const float*, Block&) noexcept>
void encode_each(const float* values, std::byte* packed, std::size_t block_count) noexcept {
    for (std::size_t i = 0; i < block_count; ++i) {
        Block block;
        kEncode(values + i * Block::kElements, block);
        store_field(packed, i, block);
    }
}

}  // namespace mixtura::detail
