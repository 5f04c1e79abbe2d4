#!/usr/bin/env python3
"""mixtura beside another runtime on one file, in one sitting: both benchmarks in turn for some rounds (these machines drift,
so neither side may have the quiet half), then the medians and their ratio.

  compare.py MODEL [--mixtura build/bin/mixtura] [--peer "COMMAND"] [--rounds 3]
             [--threads 2] [--prefill 512] [--decode 64] [--batch 1 8 32] [--repeat 3]

Both commands are called with MODEL and the flags of the last line, and print one JSON object a test: {"peer": …, "test": …,
"tokens_per_s": …}, with "prompt" or "sequences" where these matter.  The ratio is ours by the peer's; above 1 we are faster.
The default peer needs the packages that peer_llama_cpp.py names; its first round compiles nothing but loads the file."""
import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("model")
parser.add_argument("--mixtura", default=str(here.parents[1] / "build/bin/mixtura"))
parser.add_argument("--peer", default=shlex.join([sys.executable, str(here / "peer_llama_cpp.py")]))
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--prefill", type=int, default=512)
parser.add_argument("--decode", type=int, default=64)
parser.add_argument("--batch", type=int, nargs="*", default=[1, 8, 32])
parser.add_argument("--repeat", type=int, default=3)
options = parser.parse_args()
if options.rounds < 1:
    parser.error("--rounds is at least 1")

flags = []
for name in ("threads", "prefill", "decode", "repeat"):
    flags += [f"--{name}", str(getattr(options, name))]
if options.batch:
    flags += ["--batch", *map(str, options.batch)]
commands = {"ours": [options.mixtura, "bench", options.model, "--json", *flags],
            "peer": [*shlex.split(options.peer), options.model, *flags]}

rates = {}  # (test, tokens, sequences) -> side -> tokens per second, one of each round
peer_name = "peer"
for number in range(1, options.rounds + 1):
    for side, command in commands.items():
        print(f"round {number} of {options.rounds}: {side}", file=sys.stderr, flush=True)
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        except OSError as problem:
            sys.exit(f"compare.py: cannot run {command[0]}: {problem.strerror}")
        if done.returncode != 0:
            sys.exit(f"compare.py: {shlex.join(command)} ended with {done.returncode}")
        for line in done.stdout.splitlines():
            if not line.startswith("{"):
                continue
            result = json.loads(line)
            if side == "peer":
                peer_name = result["peer"]
            key = (result["test"], result.get("prompt"), result.get("sequences"))
            rates.setdefault(key, {}).setdefault(side, []).append(result["tokens_per_s"])


def cell(sides, side):
    return f"{statistics.median(sides[side]):.2f}" if side in sides else "–"


rows = [["test", "mixtura", peer_name, "ratio"]]
for (test, prompt, sequences), sides in rates.items():
    name = f"{test} {prompt}" if prompt else f"{test}, {sequences} sequences" if sequences else test
    both = len(sides) == 2
    ratio = f"{statistics.median(sides['ours']) / statistics.median(sides['peer']):.2f}" if both else "–"
    rows.append([name, cell(sides, "ours"), cell(sides, "peer"), ratio])
widths = [max(len(row[i]) for row in rows) for i in range(4)]
print(f"tokens/s, medians of {options.rounds} rounds, {options.threads} threads, {pathlib.Path(options.model).name}")
for row in rows:
    print("  ".join([row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in range(1, 4)]))
