#!/usr/bin/env python3
"""Tiny checkpoints whose experts are one 8-bit tensor a projection, as two publishers lay them out, and the logits of their decoded
weights.  From the golden models granitemoe and llama4; into OUT/<name>/{config.json, model.safetensors, reference.safetensors}:

  granitemoe-fp8   compressed-tensors: input_linear.weight [E, 2F, H], output_linear.weight [E, H, F], weight_scale [E, out, 1]
  llama4-fp8       fbgemm_fp8: gate_up_proj [E, H, 2F] with gate_up_proj_scale [E, 1, 2F], down_proj [E, F, H] with down_proj_scale
                   [E, H, 1]; scales belong to outputs, which are columns of the file
All scales are largest / 448 of an output's weights.  The forward pass is numpy in f64 from decoded f32 weights; on the unpacked models
it must give their owners' logits within 1e-5 before anything is written.
Needs: numpy.   Usage: make_stacked_fp8.py GOLDEN_DATA OUT"""
import json, os, sys
import numpy as np
from make_packed_models import E4M3, load, nearest, save


def quantised(w, axis):
    """codes u8, scales f32 (extent 1 along the axis of inputs), values f32"""
    scales = (np.abs(w).max(axis, keepdims=True) / 448).astype(np.float32)
    code = nearest(E4M3, np.abs(w / scales))
    sign = np.where(w < 0, np.float32(-1), np.float32(1))
    return (code | np.where(w < 0, 128, 0)).astype(np.uint8), scales, E4M3[code] * sign * scales


silu = lambda x: x / (1 + np.exp(-x))
softmax = lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)


def logits(weights, config, ids):
    w = {name: a.astype(np.float64) for name, a in weights.items()}
    is_llama4, tokens = config["model_type"] == "llama4_text", len(ids)
    heads, kv_heads, epsilon = config["num_attention_heads"], config["num_key_value_heads"], config["rms_norm_eps"]
    width = config.get("head_dim", config["hidden_size"] // heads)
    rms = lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)
    norm = lambda x, name: rms(x) * w[name + ".weight"]
    linear = lambda x, name: x @ w[name + ".weight"].T
    frequencies = (np.float32(1) / np.float32(config["rope_theta"])**(np.arange(0, width, 2, dtype=np.float32) / np.float32(width))).astype(np.float32)
    angles = (np.arange(tokens, dtype=np.float32)[:, None] * frequencies).astype(np.float64)
    cosines, sines = np.cos(angles)[:, None], np.sin(angles)[:, None]
    def rotate(x):
        a, b = (x[..., 0::2], x[..., 1::2]) if is_llama4 else (x[..., :width // 2], x[..., width // 2:])
        turned = a * cosines - b * sines, b * cosines + a * sines
        return np.stack(turned, -1).reshape(x.shape) if is_llama4 else np.concatenate(turned, -1)
    def granite_mixture(h, block):
        scores = linear(h, block + "router.layer")
        y = np.zeros_like(h)
        for t in range(tokens):
            chosen = np.argsort(-scores[t], kind="stable")[:config["num_experts_per_tok"]]
            for e, p in zip(chosen, softmax(scores[t, chosen])):
                gate, up = np.split(w[block + "input_linear.weight"][e] @ h[t], 2)
                y[t] += p * (w[block + "output_linear.weight"][e] @ (silu(gate) * up))
        return y
    def llama4_mixture(h, block):
        scores, shared = linear(h, block + "router"), block + "shared_expert."
        y = linear(silu(linear(h, shared + "gate_proj")) * linear(h, shared + "up_proj"), shared + "down_proj")
        for t in range(tokens):
            e = scores[t].argmax()
            gate, up = np.split(h[t] / (1 + np.exp(-scores[t, e])) @ w[block + "experts.gate_up_proj"][e], 2)
            y[t] += (silu(gate) * up) @ w[block + "experts.down_proj"][e]
        return y
    x = w["model.embed_tokens.weight"][ids] * config.get("embedding_multiplier", 1)
    row, column = np.arange(tokens)[:, None], np.arange(tokens)[None]
    residual = config.get("residual_multiplier", 1)
    for l in range(config["num_hidden_layers"]):
        block = f"model.layers.{l}."
        h, attention = norm(x, block + "input_layernorm"), block + "self_attn."
        q, k, v = (linear(h, attention + n).reshape(tokens, -1, width) for n in ("q_proj", "k_proj", "v_proj"))
        is_rotated = not is_llama4 or config["no_rope_layers"][l] != 0
        if is_rotated: q, k = rotate(q), rotate(k)
        if is_llama4 and is_rotated: q, k = rms(q), rms(k)
        k, v = (np.repeat(a, heads // kv_heads, 1) for a in (k, v))
        seen = column <= row
        if is_llama4 and is_rotated: seen = seen & (column // config["attention_chunk_size"] == row // config["attention_chunk_size"])
        scores = np.einsum("qhd,khd->hqk", q, k) * config.get("attention_multiplier", width**-0.5) + np.where(seen, 0, -np.inf)
        x = x + residual * linear(np.einsum("hqk,khd->qhd", softmax(scores), v).reshape(tokens, -1), attention + "o_proj")
        h = norm(x, block + "post_attention_layernorm")
        x = x + residual * (llama4_mixture(h, block + "feed_forward.") if is_llama4 else granite_mixture(h, block + "block_sparse_moe."))
    return (linear(norm(x, "model.norm"), "lm_head") / config.get("logits_scaling", 1)).astype(np.float32)


def main(golden, out):
    channel = {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True, "dynamic": False}
    cases = {
        "granitemoe-fp8": ("granitemoe", {"quant_method": "compressed-tensors", "format": "float-quantized", "quantization_status": "compressed",
                                          "config_groups": {"group_0": {"targets": ["Linear"], "weights": channel}}, "ignore": ["lm_head"]}),
        "llama4-fp8": ("llama4", {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0, "modules_to_not_convert": ["lm_head"]})}
    for name, (model, quantization) in cases.items():
        folder = f"{golden}/models/{model}"
        config = json.load(open(f"{folder}/config_hub.json"))
        weights, reference = load(f"{folder}/model.safetensors"), load(f"{folder}/reference.safetensors")
        ids = reference["input_ids"]
        ours = np.stack([logits(weights, config, row) for row in ids])
        error = np.abs(ours - reference["logits"]).max() / np.abs(reference["logits"]).max()
        assert error < 1e-5, (model, error)
        tensors, decoded = {}, {}
        for key, w in weights.items():
            if w.ndim != 3:
                tensors[key], decoded[key] = ("BF16", w), w
                continue
            codes, scales, decoded[key] = quantised(w, 1 if model == "llama4" else 2)
            if key.endswith("experts.down_proj"): scales = scales.reshape(len(w), -1, 1)
            tensors[key], tensors[key + "_scale"] = ("F8_E4M3", codes), ("F32", scales)
        os.makedirs(f"{out}/{name}", exist_ok=True)
        json.dump(config | {"quantization_config": quantization}, open(f"{out}/{name}/config.json", "w"), indent=2)
        save(f"{out}/{name}/model.safetensors", tensors)
        after = np.stack([logits(decoded, config, row) for row in ids])
        save(f"{out}/{name}/reference.safetensors", {"input_ids": ("I64", ids), "logits": ("F32", after)})
        print(f"{name}: forward {error:.1e}, packing changes logits by {np.abs(after - ours).max() / np.abs(ours).max():.3f}")


if __name__ == "__main__": main(*sys.argv[1:])
