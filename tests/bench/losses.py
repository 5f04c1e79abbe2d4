#!/usr/bin/env python3
"""What number formats of weights and of the cache lose on one model: a Markdown table from `mixtura compare`.

  losses.py MODEL --text FILE [--tokens 2048] [--mixtura build/bin/mixtura] [--rounds 1] [--router-file OTHER] SIDE …

MODEL, in 16 or 32 bits and with an f32 cache, is the reference; each SIDE (weights=q8_0, cache=q8 …) is held against it.
--router-file: a copy of MODEL whose routers went through int4 and back (int4_router.py): the warning example."""
import argparse
import json
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("model")
parser.add_argument("sides", nargs="+")
parser.add_argument("--text", required=True)
parser.add_argument("--tokens", type=int, default=2048)
parser.add_argument("--rounds", type=int, default=1)
parser.add_argument("--mixtura", default=str(here.parents[1] / "build/bin/mixtura"))
parser.add_argument("--router-file")
options = parser.parse_args()


def compare(side):
    # A side that says nothing of the cache has the reference's.
    full = side if "cache=" in side else f"{side},cache=f32"
    done = subprocess.run([options.mixtura, "compare", options.model, "cache=f32", full, "--text", options.text, "--tokens", str(options.tokens),
                           "--rounds", str(options.rounds), "--json"], stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"losses.py: comparing {side} ended with {done.returncode}")
    return json.loads(done.stdout)


def mean(layers, key):
    return sum(layer[key] for layer in layers) / len(layers) if layers else float("nan")


print("| | weights | cache | perplexity | more | mean KL | same likeliest | same experts | weight kept | decode |")
print("|---|" + "---:|" * 9)
for side in options.sides + ([f"file={options.router_file}"] if options.router_file else []):
    found = compare(side)
    everything = next(r for r in found["ranges"] if r["positions"] == "all")
    a, b = found["a"], found["b"]
    more = everything["perplexity_b"] / everything["perplexity_a"] - 1
    name = "routers through int4 and back" if side.startswith("file=") else side
    speed = f"{b['decode_tokens_per_s'] / a['decode_tokens_per_s']:.2f} x" if options.rounds else ""
    print(f"| {name} | {b['weight_bytes'] / a['weight_bytes']:.3f} x | {b['cache_bytes'] / a['cache_bytes']:.3f} x | {everything['perplexity_b']:.4f} | {100 * more:+.2f} % | "
          f"{everything['mean_kl']:.2e} | {100 * everything['same_likeliest']:.2f} % | {100 * mean(found['layers'], 'same_experts'):.2f} % | "
          f"{100 * mean(found['layers'], 'weight_kept'):.2f} % | {speed} |", flush=True)
