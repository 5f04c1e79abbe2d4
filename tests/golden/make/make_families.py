#!/usr/bin/env python3
"""Make more tiny random models with their reference outputs, in the form of make_models.py (whose head describes it).

Besides that script's families:
  llama-dynamic-ntk   a context of 64 tokens stretched by dynamic NTK; the long row of 80 is beyond it.
  phimoe-longrope     NOT the whole model: rewrites `long.logits` of the one that make_models.py made.  transformers' own
                      code of Phi-MoE takes the short factors for every length and changes the magnitude alone; the
                      owners' published code changes both.  So the long row is computed here by the same code with the
                      long factors and magnitude put where it reads the short ones; what it gave by itself is kept as
                      `long.short_factors.logits`.
  bailing-moe         by its owners' own files, which transformers does not ship: models/*.py of the repository
                      inclusionAI/Ling-V2 (af8837e), with transformers 4.56, which they were written for.
Router outputs are stored as logits, weights, ids; JetMoE's second router, in front of its heads, is not stored.
Needs: pip install torch transformers safetensors (5.24; bailing-moe: 4.56.2).
Usage: make_families.py OUT [name ...]          bailing-moe: BAILING=folder of its two files make_families.py OUT bailing-moe
"""
import importlib, json, os, pathlib, sys
import torch, transformers
from safetensors.torch import load_file, save_file
import make_models as base
from make_models import cfg

SMALL = dict(intermediate_size=64, moe_intermediate_size=32, num_experts_per_tok=2)
LATENT = dict(SMALL, num_key_value_heads=4, n_routed_experts=8, n_shared_experts=1, kv_lora_rank=32, q_lora_rank=48,
              qk_rope_head_dim=16, qk_nope_head_dim=32, v_head_dim=32)


def bailing():
    """The owners' class, imported as the package its relative imports want, under the name that main() asks for."""
    folder = pathlib.Path(os.environ["BAILING"])
    sys.path.insert(0, str(folder.parent))
    config = importlib.import_module(f"{folder.name}.configuration_bailing_moe_v2").BailingMoeV2Config
    config.model_type = "bailing_moe"
    transformers.BailingMoeV2ForCausalLM = importlib.import_module(f"{folder.name}.modeling_bailing_moe_v2").BailingMoeV2ForCausalLM
    common = {k: v for k, v in base.COMMON.items() if k != "bos_token_id"}
    return "BailingMoeV2ForCausalLM", config(**{**common, **SMALL, **dict(num_key_value_heads=2, head_dim=32, num_experts=8, num_shared_experts=1, n_group=4, topk_group=2, first_k_dense_replace=1, routed_scaling_factor=2.5, partial_rotary_factor=0.5, use_qk_norm=True, architectures=["BailingMoeV2ForCausalLM"])})


MODELS = {
    "llama-dynamic-ntk": lambda: ("LlamaForCausalLM", cfg("LlamaConfig", num_hidden_layers=2, intermediate_size=64, num_key_value_heads=2, max_position_embeddings=64, rope_parameters=dict(rope_type="dynamic", rope_theta=1e4, factor=4.0))),
    "glm4-moe-lite": lambda: ("Glm4MoeLiteForCausalLM", cfg("Glm4MoeLiteConfig", **LATENT, routed_scaling_factor=1.8)),
    "deepseek-v3.2": lambda: ("DeepseekV32ForCausalLM", cfg("DeepseekV32Config", **LATENT, first_k_dense_replace=1, n_group=4, topk_group=2, index_head_dim=32, index_n_heads=2)),
    "exaone-moe": lambda: ("ExaoneMoeForCausalLM", cfg("ExaoneMoeConfig", **SMALL, num_key_value_heads=2, head_dim=16, num_experts=8, num_shared_experts=1, n_group=2, topk_group=1, sliding_window=8, layer_types=["sliding_attention", "sliding_attention", "full_attention"])),
    "afmoe": lambda: ("AfmoeForCausalLM", cfg("AfmoeConfig", **SMALL, num_key_value_heads=2, head_dim=16, num_experts=8, num_shared_experts=1, num_dense_layers=1, route_scale=1.5, mup_enabled=True, sliding_window=8, layer_types=["sliding_attention", "full_attention", "sliding_attention"])),
    "jetmoe": lambda: ("JetMoeForCausalLM", cfg("JetMoeConfig", intermediate_size=32, num_key_value_heads=2, kv_channels=16, num_local_experts=8, num_experts_per_tok=2, tie_word_embeddings=True)),
    "bailing-moe": bailing,
}
# Keys that published files have besides those transformers writes.
HUB_KEYS = {
    "glm4-moe-lite": dict(first_k_dense_replace=1, topk_method="noaux_tc", num_nextn_predict_layers=1),
    "deepseek-v3.2": dict(scoring_func="sigmoid", topk_method="noaux_tc", moe_layer_freq=1, ep_size=1),
    "exaone-moe": dict(scoring_func="sigmoid", topk_method="noaux_tc", num_nextn_predict_layers=1),
    "afmoe": dict(score_func="sigmoid", route_norm=True, load_balance_coeff=0.001, num_expert_groups=1, num_limited_groups=1),
    "bailing-moe": dict(score_function="sigmoid", norm_head=False, norm_softmax=False, use_rmsnorm=True, rotary_dim=16, router_dtype="fp32", norm_topk_prob=True, using_split_qkv_in_self_attention=False, moe_shared_expert_intermediate_size=32),
}


def in_order(module, out):
    """Logits, weights and ids of what a router returned."""
    kind = type(module).__name__
    if kind == "BailingMoeV2Gate":
        return out[2], out[1], out[0]
    if kind == "JetMoeTopKGating":  # grouped by expert; its own rule again, on the logits it returned
        top, ids = out[4].topk(module.top_k, dim=1)
        return out[4], torch.softmax(top, dim=1), ids
    return out


def capture_routers(model):
    seen, handles = {}, []
    for name, module in model.named_modules():
        kind = type(module).__name__.lower()
        if ("router" in kind or kind.endswith(("gate", "gating"))) and "self_attention" not in name:
            def hook(m, args, out, name=name):
                seen.setdefault(name, in_order(m, out))
            handles.append(module.register_forward_hook(hook))
    return seen, handles


def write_today(folder):
    """config.json of a transformers 4 model as transformers 5 writes it."""
    c = json.loads((folder / "config.json").read_text())
    c["rope_parameters"] = dict(rope_type="default", rope_theta=c.pop("rope_theta"), partial_rotary_factor=c["partial_rotary_factor"])
    c.pop("rope_scaling")
    c["dtype"] = c.pop("torch_dtype", c.get("dtype"))
    (folder / "config.json").write_text(json.dumps(c, indent=2))


def long_row_of_longrope(folder):
    """long.logits as a sequence beyond the original context gets them; see the head of this file."""
    model = transformers.PhimoeForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    ref = load_file(folder / "reference.safetensors")
    with torch.no_grad():
        alone = model(input_ids=ref["long.input_ids"], use_cache=False).logits
    ref.setdefault("long.short_factors.logits", ref["long.logits"])
    assert torch.allclose(alone, ref["long.short_factors.logits"], atol=1e-5)
    rope = model.config.rope_parameters
    rope.update(short_factor=rope["long_factor"], short_mscale=rope["long_mscale"])
    model.model.rotary_emb = type(model.model.rotary_emb)(model.config)
    with torch.no_grad():
        ref["long.logits"] = model(input_ids=ref["long.input_ids"], use_cache=False).logits
    save_file({k: v.contiguous().clone() for k, v in ref.items()}, folder / "reference.safetensors")
    print("phimoe-longrope: its long row differs by", float((ref["long.logits"] - alone).abs().max()))


if __name__ == "__main__":
    out, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or [n for n in MODELS if n != "bailing-moe"] + ["phimoe-longrope"]
    base.MODELS, base.HUB_KEYS, base.capture_routers = MODELS, HUB_KEYS, capture_routers
    sys.argv = [sys.argv[0], str(out), *(n for n in names if n in MODELS)]
    if len(sys.argv) > 2:
        base.main()
    if "bailing-moe" in names:
        write_today(out / "bailing-moe")
    if "phimoe-longrope" in names:
        long_row_of_longrope(out / "phimoe-longrope")
