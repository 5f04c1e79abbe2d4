#!/usr/bin/env python3
"""Write a GGUF file with the exact tensor shapes of a public mixture-of-experts model and random weights.

Speed and memory depend on shapes, types and routing, not on what the weights say, so such a file stands in for the real one
where that cannot be had.  Any GGUF runtime can load it.

  make_random_moe.py SHAPE TYPE OUT.gguf [--layers N]        pip install gguf numpy

SHAPE: olmoe-1b-7b, qwen3-30b-a3b, mixtral-8x7b, deepseek-moe-16b, qwen2-57b-a14b; TYPE: q4_0, q4_k, q8_0, f16.
Sizes are those of the models' published config.json files.  Columns that 256 does not divide get q5_0 where q4_k is asked for,
as llama.cpp's own quantiser does."""
import argparse

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T

# L layers, D hidden, H heads of HD over KV, E experts of F of which K are chosen, V tokens; SHARED: width of the shared
# expert; DENSE: width of the leading dense layers, of which there are LEAD.
SHAPES = {
    "olmoe-1b-7b": dict(arch="olmoe", L=16, D=2048, H=16, KV=16, HD=128, E=64, K=8, F=1024, V=50304, theta=1e4),
    "qwen3-30b-a3b": dict(arch="qwen3moe", L=48, D=2048, H=32, KV=4, HD=128, E=128, K=8, F=768, V=151936),
    "mixtral-8x7b": dict(arch="llama", L=32, D=4096, H=32, KV=8, HD=128, E=8, K=2, F=14336, V=32000),
    "deepseek-moe-16b": dict(arch="deepseek", L=28, D=2048, H=16, KV=16, HD=128, E=64, K=6, F=1408, V=102400, SHARED=2816,
                             DENSE=10944, LEAD=1, theta=1e4),
    "qwen2-57b-a14b": dict(arch="qwen2moe", L=28, D=3584, H=28, KV=4, HD=128, E=64, K=8, F=2560, V=151936, SHARED=20480),
}
# Elements and bytes of a block, and where its f16 scales lie with the value that gives codes drawn evenly a spread of 1.
BLOCKS = {T.Q4_0: (32, 18, {0: 1 / 4.6}), T.Q5_0: (32, 22, {0: 1 / 9.2}), T.Q8_0: (32, 34, {0: 1 / 74}),
          T.Q4_K: (256, 144, {0: 1 / 190, 2: 7.5 / 190}), T.Q6_K: (256, 210, {208: 1 / 1400}), T.F16: (1, 2, {}), T.F32: (1, 4, {})}


def random_tensor(rng, shape, dtype, spread):
    """`shape` as numpy has it, rows and then columns; block formats as bytes, rows of packed blocks."""
    if dtype in (T.F32, T.F16):
        values = rng.standard_normal(shape, dtype=np.float32) * np.float32(spread)
        return values.astype(np.float16) if dtype == T.F16 else values
    elements, size, scales = BLOCKS[dtype]
    blocks = int(np.prod(shape)) // elements
    raw = rng.integers(0, 256, size=(blocks, size), dtype=np.uint8)
    for at, scale in scales.items():
        raw[:, at:at + 2] = np.full(blocks, spread * scale, np.float16).view(np.uint8).reshape(blocks, 2)
    return raw.reshape(*shape[:-1], shape[-1] // elements * size)


def tensors_of(s, layers, main, head):
    """(name, shape, type, spread) of every tensor; spread None: a norm, all ones."""
    D, F, E, HD, V = s["D"], s["F"], s["E"], s["HD"], s["V"]

    def weight(name, *shape, dtype=None):
        dtype = dtype or main
        return name + ".weight", shape, T.Q5_0 if dtype == T.Q4_K and shape[-1] % 256 else dtype, shape[-1] ** -0.5

    def norm(name, width):
        return name + ".weight", (width,), T.F32, None

    yield "token_embd.weight", (V, D), main, 1.0
    yield norm("output_norm", D)
    yield weight("output", V, D, dtype=head)
    for layer in range(layers):
        p = f"blk.{layer}."
        yield norm(p + "attn_norm", D)
        yield norm(p + "ffn_norm", D)
        for part, rows in (("q", s["H"] * HD), ("k", s["KV"] * HD), ("v", s["KV"] * HD)):
            yield weight(p + "attn_" + part, rows, D)
            if s["arch"] == "qwen2moe":
                yield p + f"attn_{part}.bias", (rows,), T.F32, 0.1
        yield weight(p + "attn_output", D, s["H"] * HD)
        if s["arch"] in ("qwen3moe", "olmoe"):
            heads = (1, 1) if s["arch"] == "qwen3moe" else (s["H"], s["KV"])
            yield norm(p + "attn_q_norm", heads[0] * HD)
            yield norm(p + "attn_k_norm", heads[1] * HD)
        if layer < s.get("LEAD", 0):
            yield weight(p + "ffn_gate", s["DENSE"], D)
            yield weight(p + "ffn_up", s["DENSE"], D)
            yield weight(p + "ffn_down", D, s["DENSE"])
            continue
        yield weight(p + "ffn_gate_inp", E, D, dtype=T.F32)
        yield weight(p + "ffn_gate_exps", E, F, D)
        yield weight(p + "ffn_up_exps", E, F, D)
        yield weight(p + "ffn_down_exps", E, D, F)
        if "SHARED" in s:
            yield weight(p + "ffn_gate_shexp", s["SHARED"], D)
            yield weight(p + "ffn_up_shexp", s["SHARED"], D)
            yield weight(p + "ffn_down_shexp", D, s["SHARED"])
        if s["arch"] == "qwen2moe":
            yield p + "ffn_gate_inp_shexp.weight", (D,), T.F32, D ** -0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("type", choices=["q4_0", "q4_k", "q8_0", "f16"])
    parser.add_argument("out")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    s = SHAPES[options.shape]
    layers = options.layers or s["L"]
    dtype = T[options.type.upper()]
    rng = np.random.default_rng(options.seed)
    w = gguf.GGUFWriter(options.out, s["arch"])
    w.add_name(f"random {options.shape} ({layers} layers)")
    w.add_vocab_size(s["V"])
    w.add_context_length(32768)
    w.add_embedding_length(s["D"])
    w.add_block_count(layers)
    w.add_feed_forward_length(s.get("DENSE", s["F"]))
    w.add_head_count(s["H"])
    w.add_head_count_kv(s["KV"])
    w.add_key_length(s["HD"])
    w.add_value_length(s["HD"])
    w.add_rope_dimension_count(s["HD"])
    w.add_rope_freq_base(s.get("theta", 1e6))
    w.add_layer_norm_rms_eps(1e-6)
    w.add_expert_count(s["E"])
    w.add_expert_used_count(s["K"])
    w.add_expert_feed_forward_length(s["F"])
    if s["arch"] == "deepseek":
        w.add_leading_dense_block_count(s["LEAD"])
        w.add_expert_shared_count(s["SHARED"] // s["F"])
        w.add_expert_weights_scale(1.0)
    if s["arch"] == "qwen2moe":
        w.add_expert_shared_feed_forward_length(s["SHARED"])
    w.add_tokenizer_model("no_vocab")
    plan = list(tensors_of(s, layers, dtype, T.Q6_K if options.type.startswith("q4") else dtype))
    for name, shape, t, _ in plan:
        elements, size, _ = BLOCKS[t]
        row = shape[-1] // elements * size
        is_plain = t in (T.F32, T.F16)
        numpy_type = np.dtype({T.F32: np.float32, T.F16: np.float16}.get(t, np.uint8))
        w.add_tensor_info(name, shape if is_plain else (*shape[:-1], row), numpy_type, int(np.prod(shape[:-1])) * row,
                          raw_dtype=None if is_plain else t)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_ti_data_to_file()
    for _, shape, t, spread in plan:
        w.write_tensor_data(np.ones(shape, np.float32) if spread is None else random_tensor(rng, shape, t, spread))
    w.close()


if __name__ == "__main__":
    main()
