#!/usr/bin/env python3
"""No instruction beyond the x86-64 baseline outside the kernels that are chosen at run time.
Usage: baseline.py ARCHIVE
Objects of lib/kernels/x86 may hold them in functions of their own; but what such an object shares with others (a weak
symbol: an inline function the linker takes from any object) must be baseline too, or the wrong copy may win."""
import re
import subprocess
import sys

# AVX and later are VEX- or EVEX-encoded: their mnemonics begin with v, and they alone name ymm, zmm and mask registers.
# Those of AMX are tile..., tdp..., ldtilecfg and sttilecfg.
BEYOND = re.compile(r"\t(v[a-z0-9]+|tile\w+|tdp\w+|[ls][dt]tilecfg|[a-z0-9]+\s+.*%(?:ymm|zmm|k[0-7]))\b")
LEGAL = re.compile(r"\tver[rw]\b")
# Scalar instructions that -march flags would let in; tzcnt is not among them: GCC writes it for bsf, which it is on old processors.
SCALAR = re.compile(r"\t(andn|bextr|bls[irm]\w*|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|lzcnt|popcnt|crc32|movbe)\b")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def weak_symbols(archive):
    weak, member = {}, ""
    for line in run("nm", "--defined-only", archive).splitlines():
        if line.endswith(":"):
            member = line[:-1]
        elif (parts := line.split()) and len(parts) == 3 and parts[1] in "WVu":
            weak.setdefault(member, set()).add(parts[2])
    return weak


archive = sys.argv[1]
weak = weak_symbols(archive)
kernels = re.compile(r"^(?:(?:attention|integer|plain|recurrent|rows)_(?:avx|amx)\w*|peak_loops_x86)\.cpp\.o$")  # the sources of lib/kernels/x86
problems, member, function, functions = [], "", "", 0
for line in run("objdump", "-d", "--no-show-raw-insn", archive).splitlines():
    if found := re.match(r"^(\S+):\s+file format", line):
        member = found[1]
    elif found := re.match(r"^[0-9a-f]+ <(.+)>:$", line):
        function, functions = found[1], functions + 1
    elif (BEYOND.search(line) and not LEGAL.search(line)) or SCALAR.search(line):
        if not kernels.match(member) or function in weak.get(member, ()):
            problems.append(f"{member}: {function}: {line.strip()}")
assert functions > 1000, f"only {functions} functions in {archive}"
for problem in problems[:20]:
    print(problem)
print(f"baseline: {functions} functions, {len(problems)} instructions beyond it")
sys.exit(1 if problems else 0)
