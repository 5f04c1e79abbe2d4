// GGUF files of checkpoint folders, as published files of these architectures are: keys, names, row permutations,
// merged and split tensors.  For the families of which tests/golden has no file by llama.cpp's own converter; written
// from what that converter and its reader do, so that a test does not compare our reader with itself alone: the numbers
// to match are the owners'.
#pragma once

#include <string>

#include "support/gguf_writer.hpp"

namespace mixtura::test {

// What differs between files of one architecture by their age and maker.
struct GgufForm {
    bool has_one_tensor_an_expert = false;  // "blk.3.ffn_gate.7.weight": files of early 2024
    bool has_joined_latent_heads = false;   // attn_kv_b and no *_mla keys: DeepSeek files before May 2025
    bool has_joined_gate_and_up = false;    // ffn_gate_up_exps: an option of converters since 2026
    bool has_owners_projection = false;     // ssm_in: Qwen3-Next files of late 2025
};

// `folder`: config.json as transformers 5 writes it and one model.safetensors.  Families: mixtral, qwen2_moe, phimoe,
// deepseek_v2, gpt_oss (bf16 experts or MXFP4 as published), ernie4_5_moe, hunyuan_v1_moe, dbrx, minimax_m2,
// llama4_text, qwen3_next.  Throws for a tensor or a family it does not know.
GgufFile gguf_of_model(const std::string& folder, const GgufForm& form = {});

}  // namespace mixtura::test
