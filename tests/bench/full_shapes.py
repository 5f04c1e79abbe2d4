#!/usr/bin/env python3
"""Do models of published shapes load, answer, and take the memory that `mixtura inspect` says?

  full_shapes.py FOLDER [--mixtura build/bin/mixtura] [--type q4_k] [--append RESULTS.md] [SHAPE[=LAYERS] …]

Writes each random-weight file to FOLDER (make_random_moe.py, run by this Python), asks inspect what it will take with a context
of 512 tokens, lets it answer 480 tokens with 32 and compares the process' largest resident memory; the file is removed again.  Ends with
1 where one is further than 3 % from what was said.  Without SHAPE: all of them, those that are larger than the memory with as
many layers as fit into three quarters of it."""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
FULL_BYTES = {"olmoe-1b-7b": (16, 3.9e9), "qwen3-30b-a3b": (48, 17.3e9), "mixtral-8x7b": (32, 26.4e9),
              "deepseek-moe-16b": (28, 9.8e9), "qwen2-57b-a14b": (28, 32.6e9)}  # layers and size in q4_k
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("shapes", nargs="*")
parser.add_argument("--mixtura", default=str(here.parents[1] / "build/bin/mixtura"))
parser.add_argument("--type", default="q4_k")
parser.add_argument("--append", type=pathlib.Path)
options = parser.parse_intermixed_args()

PROMPT = ",".join(str(1 + n % 1000) for n in range(480))  # fills the context with the answer, so that all of a step's memory is touched
memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def wanted():
    for text in options.shapes or FULL_BYTES:
        shape, _, layers = text.partition("=")
        if shape not in FULL_BYTES:
            parser.error(f"there is no shape '{shape}', expected one of {', '.join(FULL_BYTES)}")
        all_layers, size = FULL_BYTES[shape]
        yield shape, int(layers) if layers else min(all_layers, int(all_layers * 0.75 * memory / size)), all_layers


def peak_bytes(command):
    """What a process prints, and its largest resident memory."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 1)
        os.execvp(command[0], command)
    os.close(writer)
    with os.fdopen(reader, "rb") as output:
        text = output.read()
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"full_shapes.py: {' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return text, usage.ru_maxrss * 1024


rows = [["shape", "layers", "file", "inspect says", "taken", "taken / said", "tokens/s"]]
failed = False
for shape, layers, all_layers in wanted():
    path = options.folder / f"{shape}-{layers}-{options.type}.gguf"
    try:
        subprocess.run([sys.executable, str(here / "make_random_moe.py"), shape, options.type, str(path), "--layers", str(layers)], check=True)
        size = path.stat().st_size
        said = json.loads(subprocess.run([options.mixtura, "inspect", str(path), "--json", "--context", "512"], check=True, stdout=subprocess.PIPE).stdout)["memory"]
        text, taken = peak_bytes([options.mixtura, "complete", str(path), "--ids", PROMPT, "--max-tokens", "32", "--context", "512", "--json"])
    finally:
        path.unlink(missing_ok=True)
    answer = json.loads(text)
    total = said["total_bytes"]
    rows.append([shape, f"{layers} of {all_layers}", f"{size / 1e9:.2f} GB", f"{total / 1e9:.3f} GB", f"{taken / 1e9:.3f} GB", f"{taken / total:.4f}",
                 f"{(len(answer['tokens']) - 1) / answer['decode_seconds']:.1f}"])
    print("  ".join(rows[-1]), flush=True)
    failed = failed or abs(taken / total - 1) > 0.03 or len(answer["tokens"]) != 32
if options.append:
    lines = ["", f"## {datetime.date.today()}, full shapes, {options.type}", ""]
    for number, row in enumerate(rows):
        lines.append("| " + " | ".join(row) + " |")
        if number == 0:
            lines.append("|---|" + "---:|" * (len(row) - 1))
    with options.append.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
sys.exit(1 if failed else 0)
