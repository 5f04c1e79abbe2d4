#!/usr/bin/env python3
"""Tiny checkpoints in the packed forms of the hub, and the logits of their decoded weights.  From the golden models llama and
qwen3-moe; into OUT/<name>/{config.json, model.safetensors, reference.safetensors}:

  llama-fp8        block-scaled e4m3, blocks of 32 x 32            qwen3-moe-fp8   blocks of 128 x 128, larger than the matrices
  llama-gptq       int4, one group a row, zero points stored less one    qwen3-moe-awq   int4, groups of 32
  llama-gptq-order, qwen3-moe-gptq-order   int4, groups of 32 of inputs in a random order, each matrix its own (desc_act); seeds
                   under which no activation lies so near a rounding's tie that f32 falls on its other side
  llama-nf4        NF4, nested absmax                              qwen3-moe-nf4   NF4; experts' down projections, whose rows
                                                                   are half a block, stay bf16
Weights are rounded to nearest; what the codes mean is each owner's definition (make_packed.py, make_bitsandbytes.py hold it to
the owners' own programs).  The forward pass is numpy in f64 from decoded f32 weights; on the unpacked models it must give their
owners' logits within 1e-5 before anything is written.  Of int4 also logits_int8: the same with activations rounded to 8 bit.
Needs: numpy.   Usage: make_packed_models.py GOLDEN_DATA OUT"""
import json, os, struct, sys
import numpy as np

NUMPY = {"F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "U8": np.uint8, "I8": np.int8, "F8_E4M3": np.uint8}


def load(path):
    with open(path, "rb") as f: data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, t in json.loads(data[8:8 + size]).items():
        if name == "__metadata__": continue
        raw = data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]]
        if t["dtype"] == "BF16": a = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else: a = np.frombuffer(raw, NUMPY[t["dtype"]])
        out[name] = a.reshape(t["shape"])
    return out


def save(path, tensors):
    """{name: (dtype, array)}; bf16 arrays are f32 that bf16 holds."""
    header, blobs, at = {}, [], 0
    for name, (dtype, a) in sorted(tensors.items()):
        raw = (a.view(np.uint32) >> 16).astype(np.uint16).tobytes() if dtype == "BF16" else a.astype(NUMPY[dtype], copy=False).tobytes()
        header[name] = {"dtype": dtype, "shape": list(a.shape), "data_offsets": [at, at + len(raw)]}
        blobs.append(raw); at += len(raw)
    text = json.dumps(header).encode(); text += b" " * (-len(text) % 8)
    with open(path, "wb") as f: f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


# ---- the forms: matrix f32 [out, in] -> tensors by suffix of the module's name, decoded f32 [out, in] --------------------------

E4M3 = np.array([(m / 8 * 2.0**-6 if e == 0 else (1 + m / 8) * 2.0**(e - 7)) for e in range(16) for m in range(8)][:127], np.float32)


def nearest(table, x): return np.abs(x[..., None].astype(np.float64) - table.astype(np.float64)).argmin(-1)


def fp8(rows, columns):
    def pack(w):
        out, inn = w.shape
        scales = np.zeros((-(-out // rows), -(-inn // columns)), np.float32)
        for i in range(scales.shape[0]):
            for j in range(scales.shape[1]):
                scales[i, j] = np.float32(np.abs(w[i * rows:(i + 1) * rows, j * columns:(j + 1) * columns]).max() / 448)
        full = scales.repeat(rows, 0)[:out].repeat(columns, 1)[:, :inn]
        code = nearest(E4M3, np.abs(w / full))
        codes = (code | np.where(w < 0, 128, 0)).astype(np.uint8)
        values = E4M3[code] * np.where(w < 0, np.float32(-1), np.float32(1)) * full
        return {".weight": ("F8_E4M3", codes), ".weight_scale_inv": ("F32", scales)}, values
    return pack


def int4(w, group):
    """codes [out, in], zero points and f16 scales [out, groups], decoded"""
    out, inn = w.shape
    parts = w.reshape(out, inn // group, group)
    low, high = np.minimum(parts.min(2), 0), np.maximum(parts.max(2), 0)
    scales = ((high - low) / 15).astype(np.float16)
    s = scales.astype(np.float32)
    zeros = np.clip(np.rint(-low / s), 1, 15).astype(np.int64)
    codes = np.clip(np.rint(parts / s[..., None]) + zeros[..., None], 0, 15).astype(np.int64)
    return codes.reshape(out, inn), zeros, scales, ((codes - zeros[..., None]).astype(np.float32) * s[..., None]).reshape(out, inn)


def words(nibbles, order, axis):
    """Eight nibbles a word along the axis; nibble i of a word holds element order[i]."""
    n = np.moveaxis(nibbles, axis, -1)
    n = n.reshape(*n.shape[:-1], n.shape[-1] // 8, 8)[..., order]
    packed = sum(n[..., i].astype(np.uint64) << np.uint64(4 * i) for i in range(8)).astype(np.uint32).view(np.int32)
    return np.ascontiguousarray(np.moveaxis(packed, -1, axis))


def awq(group):
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    def pack(w):
        codes, zeros, scales, values = int4(w, group)
        return {".qweight": ("I32", words(codes.T, order, 1)), ".qzeros": ("I32", words(zeros.T, order, 1)),
                ".scales": ("F16", np.ascontiguousarray(scales.T))}, values
    return pack


def gptq(group=0, seed=None):
    random = seed and np.random.default_rng(seed)
    def pack(w):
        size, order, inputs = group or w.shape[1], list(range(8)), np.arange(w.shape[1])
        if random: inputs = random.permutation(inputs)          # inputs[k]: the input that is k-th group by group
        groups = np.empty(w.shape[1], np.int32); groups[inputs] = np.arange(w.shape[1]) // size
        inputs = np.argsort(groups, kind="stable")
        sorted_codes, zeros, scales, sorted_values = int4(w[:, inputs], size)
        codes, values = np.empty_like(sorted_codes), np.empty_like(sorted_values)
        codes[:, inputs], values[:, inputs] = sorted_codes, sorted_values
        return {".qweight": ("I32", words(codes.T, order, 0)), ".qzeros": ("I32", words(zeros.T - 1, order, 1)),
                ".scales": ("F16", np.ascontiguousarray(scales.T)), ".g_idx": ("I32", groups)}, values
    return pack


def nf4(maps, is_nested):
    def pack(w):
        block, table = 64, maps["nf4.weight.quant_map"]
        parts = w.reshape(-1, block)
        absmax = np.abs(parts).max(1)
        state = {"quant_type": "nf4", "blocksize": block, "dtype": "bfloat16", "shape": list(w.shape)}
        out = {}
        if is_nested:
            nested_map, offset = maps["nf4_nested.weight.nested_quant_map"], np.float32(absmax.mean())
            nested = np.abs(absmax - offset).max().reshape(1)
            codes = nearest(nested_map, (absmax - offset) / nested)
            out |= {".weight.absmax": ("U8", codes.astype(np.uint8)), ".weight.nested_absmax": ("F32", nested),
                    ".weight.nested_quant_map": ("F32", nested_map)}
            absmax = nested_map[codes] * nested + offset
            state |= {"nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": float(offset)}
            assert len(codes) <= 256
        else:
            out |= {".weight.absmax": ("F32", absmax)}
        codes = nearest(table, parts / absmax[:, None])
        flat = codes.reshape(-1)
        blob = np.frombuffer(json.dumps(state).encode(), np.uint8)
        out |= {".weight": ("U8", (flat[0::2] << 4 | flat[1::2]).astype(np.uint8).reshape(-1, 1)), ".weight.quant_map": ("F32", table),
                ".weight.quant_state.bitsandbytes__nf4": ("U8", blob)}
        return out, (table[codes] * absmax[:, None]).reshape(w.shape)
    return pack


# ---- the forward pass --------------------------------------------------------------------------------------------------------

def rounded(x, groups):
    """Activations as int8 per 32, as mixtura's integer products take them (lib/kernels/README.md): inputs group by group."""
    order = np.argsort(groups, kind="stable")
    parts = x[..., order].astype(np.float32).reshape(-1, 32)
    largest = np.abs(parts).max(1, keepdims=True)
    out = np.empty_like(x)
    out[..., order] = (np.rint(parts * (np.float32(127) / largest)) * (largest / np.float32(127))).reshape(x.shape)
    return out


def logits(weights, config, ids, groups={}):
    """groups: of each weight whose activations are rounded, the group of each input."""
    w = {name: a.astype(np.float64) for name, a in weights.items()}
    width, heads, kv_heads = config["head_dim"], config["num_attention_heads"], config["num_key_value_heads"]
    norm = lambda x, name: x / np.sqrt((x * x).mean(-1, keepdims=True) + config["rms_norm_eps"]) * w[name + ".weight"]
    linear = lambda x, name: (rounded(x, groups[name + ".weight"]) if name + ".weight" in groups else x) @ w[name + ".weight"].T
    silu = lambda x: x / (1 + np.exp(-x))
    ffn = lambda x, name: linear(silu(linear(x, name + ".gate_proj")) * linear(x, name + ".up_proj"), name + ".down_proj")
    tokens = len(ids)
    frequencies = (np.float32(1) / np.float32(config["rope_theta"])**(np.arange(0, width, 2, dtype=np.float32) / np.float32(width))).astype(np.float32)
    angles = (np.arange(tokens, dtype=np.float32)[:, None] * frequencies).astype(np.float64)
    cosines, sines = np.cos(angles)[:, None], np.sin(angles)[:, None]
    def rotate(x):
        a, b = x[..., :width // 2], x[..., width // 2:]
        return np.concatenate([a * cosines - b * sines, b * cosines + a * sines], -1)
    x = w["model.embed_tokens.weight"][ids]
    for l in range(config["num_hidden_layers"]):
        block = f"model.layers.{l}."
        h, attention = norm(x, block + "input_layernorm"), block + "self_attn."
        q, k, v = (linear(h, attention + n).reshape(tokens, -1, width) for n in ("q_proj", "k_proj", "v_proj"))
        if attention + "q_norm.weight" in w: q, k = norm(q, attention + "q_norm"), norm(k, attention + "k_norm")
        q, k = rotate(q), rotate(k)
        k, v = (np.repeat(a, heads // kv_heads, 1) for a in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(width) + np.triu(np.full((tokens, tokens), -np.inf), 1)
        p = np.exp(scores - scores.max(-1, keepdims=True)); p /= p.sum(-1, keepdims=True)
        x = x + linear(np.einsum("hqk,khd->qhd", p, v).reshape(tokens, -1), attention + "o_proj")
        h = norm(x, block + "post_attention_layernorm")
        if block + "mlp.gate.weight" not in w: x = x + ffn(h, block + "mlp"); continue
        r = linear(h, block + "mlp.gate"); r = np.exp(r - r.max(-1, keepdims=True)); r /= r.sum(-1, keepdims=True)
        chosen = np.argsort(-r, -1, kind="stable")[:, :config["num_experts_per_tok"]]
        y = np.zeros_like(x)
        for t in range(tokens):
            for e in chosen[t]: y[t] += r[t, e] / r[t, chosen[t]].sum() * ffn(h[t], f"{block}mlp.experts.{e}")
        x = x + y
    return linear(norm(x, "model.norm"), "lm_head").astype(np.float32)


def is_packed(name): return name.endswith("_proj.weight")


def main(golden, out):
    maps = load(f"{golden}/bitsandbytes.safetensors")
    f8 = lambda size: {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [size, size]}
    bnb = lambda nested: {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False, "bnb_4bit_quant_type": "nf4",
                          "bnb_4bit_quant_storage": "uint8", "bnb_4bit_compute_dtype": "bfloat16", "bnb_4bit_use_double_quant": nested,
                          "llm_int8_threshold": 6.0, "llm_int8_skip_modules": None}
    cases = {
        "llama-fp8": ("llama", fp8(32, 32), f8(32)), "qwen3-moe-fp8": ("qwen3-moe", fp8(128, 128), f8(128)),
        "llama-gptq": ("llama", gptq(), {"quant_method": "gptq", "bits": 4, "group_size": -1, "desc_act": False, "sym": False,
                                        "checkpoint_format": "gptq", "damp_percent": 0.01, "true_sequential": True}),
        **{f"{model}-gptq-order": (model, gptq(32, seed), {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": True, "sym": False,
                                                        "static_groups": False, "checkpoint_format": "gptq"}) for model, seed in (("llama", 8), ("qwen3-moe", 9))},
        "qwen3-moe-awq": ("qwen3-moe", awq(32), {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True,
                                                  "modules_to_not_convert": ["mlp.gate"]}),
        "llama-nf4": ("llama", nf4(maps, True), bnb(True)), "qwen3-moe-nf4": ("qwen3-moe", nf4(maps, False), bnb(False))}
    for name, (model, pack, quantization) in cases.items():
        folder = f"{golden}/models/{model}"
        config = json.load(open(f"{folder}/config_hub.json"))
        weights, reference = load(f"{folder}/model.safetensors"), load(f"{folder}/reference.safetensors")
        ids = reference["input_ids"]
        ours = np.stack([logits(weights, config, row) for row in ids])
        error = np.abs(ours - reference["logits"]).max() / np.abs(reference["logits"]).max()
        assert error < 1e-5, (model, error)
        tensors, decoded = {}, {}
        for key, w in weights.items():
            if not is_packed(key) or (name == "qwen3-moe-nf4" and w.shape[1] % 64 != 0):
                tensors[key], decoded[key] = ("BF16", w), w
                continue
            parts, decoded[key] = pack(w)
            tensors |= {key.removesuffix(".weight") + suffix: part for suffix, part in parts.items()}
        os.makedirs(f"{out}/{name}", exist_ok=True)
        json.dump(config | {"quantization_config": quantization}, open(f"{out}/{name}/config.json", "w"), indent=2)
        save(f"{out}/{name}/model.safetensors", tensors)
        after = np.stack([logits(decoded, config, row) for row in ids])
        reference = {"input_ids": ("I64", ids), "logits": ("F32", after)}
        if "scales" in " ".join(tensors):
            groups = {key: tensors.get(key.removesuffix("weight") + "g_idx", (0, np.zeros(w.shape[1])))[1] for key, w in weights.items() if is_packed(key)}
            reference["logits_int8"] = ("F32", np.stack([logits(decoded, config, row, groups) for row in ids]))
        save(f"{out}/{name}/reference.safetensors", reference)
        print(f"{name}: forward {error:.1e}, packing changes logits by {np.abs(after - ours).max() / np.abs(ours).max():.3f}")


if __name__ == "__main__": main(*sys.argv[1:])
