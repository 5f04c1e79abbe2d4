#!/usr/bin/env python3
"""mixtura beside another runtime on one file, in one sitting: both benchmarks in turn for some rounds (these machines drift,
so neither side may have the quiet half), then the medians and their ratio.

  compare.py MODEL [--mixtura build/bin/mixtura] [--peer-python PYTHON | --peer "COMMAND"] [--rounds 3] [--append RESULTS.md]
             [--threads 2] [--prefill 512] [--decode 64] [--batch 1 8 32] [--repeat 3]

Both commands are called with MODEL and the flags of the last line, and print one JSON object a test: {"peer": …, "test": …,
"tokens_per_s": …}, with "prompt" or "sequences" where these matter.  The ratio is ours by the peer's; above 1 we are faster.
Ours measures the machine's own rates in each round too: "of limit" is our share of what they allow.
The default peer is llama.cpp through peer_llama_cpp.py, run by --peer-python, which must have the packages that file names.
--append adds the table to a Markdown file, with the day, the machine and this command."""
import argparse
import datetime
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("model")
parser.add_argument("--mixtura", default=str(here.parents[1] / "build/bin/mixtura"))
parser.add_argument("--peer-python", default=sys.executable)
parser.add_argument("--peer")
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--prefill", type=int, default=512)
parser.add_argument("--decode", type=int, default=64)
parser.add_argument("--batch", type=int, nargs="*", default=[1, 8, 32])
parser.add_argument("--repeat", type=int, default=3)
parser.add_argument("--append", type=pathlib.Path)
options = parser.parse_args()
if options.rounds < 1:
    parser.error("--rounds is at least 1")

flags = []
for name in ("threads", "prefill", "decode", "repeat"):
    flags += [f"--{name}", str(getattr(options, name))]
if options.batch:
    flags += ["--batch", *map(str, options.batch)]
peer = shlex.split(options.peer) if options.peer else [options.peer_python, str(here / "peer_llama_cpp.py")]
commands = {"ours": [options.mixtura, "bench", options.model, "--json", "--machine", *flags],
            "peer": [*peer, options.model, *flags]}


def name_of(key):
    test, prompt, sequences = key
    return f"{test} {prompt}" if prompt else f"{test}, {sequences} sequences" if sequences else test


rates = {}     # (test, tokens, sequences) -> side -> tokens per second, one of each round
shares = {}    # (test, tokens, sequences) -> ours, one of each round
machines = []  # what ours found in each round
peer_name = "peer"
for number in range(1, options.rounds + 1):
    for side, command in commands.items():
        print(f"round {number} of {options.rounds}: {side}", file=sys.stderr, flush=True)
        try:
            running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        except OSError as problem:
            sys.exit(f"compare.py: cannot run {command[0]}: {problem.strerror}")
        for line in running.stdout:
            if not line.startswith("{"):
                continue
            result = json.loads(line)
            if "machine" in result:
                machines.append(result["machine"])
                continue
            if side == "peer":
                peer_name = result["peer"]
            key = (result["test"], result.get("prompt"), result.get("sequences"))
            rates.setdefault(key, {}).setdefault(side, []).append(result["tokens_per_s"])
            if "share" in result:
                shares.setdefault(key, []).append(result["share"])
            # At once: a sitting that is cut short has its readings until then.
            print(f"  {name_of(key)}: {result['tokens_per_s']:.2f} tokens/s", file=sys.stderr, flush=True)
        if running.wait() != 0:
            sys.exit(f"compare.py: {shlex.join(command)} ended with {running.returncode}")


def cell(sides, side):
    return f"{statistics.median(sides[side]):.2f}" if side in sides else "–"


def ceiling(name, unit):
    found = [machine[name] for machine in machines if name in machine]
    return f"{statistics.median(found) / 1e9:.2f} {unit}" if found else "unknown"


rows = [["test", "mixtura", peer_name, "ratio", "of limit"]]
for key, sides in rates.items():
    both = len(sides) == 2
    ratio = f"{statistics.median(sides['ours']) / statistics.median(sides['peer']):.2f}" if both else "–"
    share = f"{statistics.median(shares[key]):.2f}" if key in shares else "–"
    rows.append([name_of(key), cell(sides, "ours"), cell(sides, "peer"), ratio, share])
widths = [max(len(row[i]) for row in rows) for i in range(5)]
heading = f"tokens/s, medians of {options.rounds} rounds, {options.threads} threads, {pathlib.Path(options.model).name}"
limits = (f"read {ceiling('read_bytes_per_s', 'GB/s')}, 8-bit integers {ceiling('integer_ops_per_s', 'Gop/s')}, "
          f"f32 {ceiling('float_ops_per_s', 'Gop/s')}, disk {ceiling('disk_bytes_per_s', 'GB/s')}")
print(heading)
for row in rows:
    print("  ".join([row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in range(1, 5)]))
print(limits)


def processor():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "CPU part")):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return os.uname().machine


if options.append:
    asked = " ".join(shlex.quote(pathlib.Path(word).name if "/" in word else word) for word in sys.argv)
    lines = ["", f"## {datetime.date.today()}, {pathlib.Path(options.model).name}", "",
             f"{processor()}, {len(os.sched_getaffinity(0))} processors usable; {limits}.", "",
             f"{heading}, by `{asked}`", ""]
    for number, row in enumerate(rows):
        lines.append("| " + " | ".join(row) + " |")
        if number == 0:
            lines.append("|---|" + "---:|" * 4)
    with options.append.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
