#!/usr/bin/env python3
"""The program on a processor of 2008, without AVX, which qemu-user plays: it starts, it gives the same bits as here, an
instruction set that is asked for but not there is an error in words, and the doctor says what is missing.
Usage: old_processor.py MIXTURA GOLDEN_DIR"""
import os
import pathlib
import subprocess
import sys
import tempfile

program, golden = sys.argv[1], pathlib.Path(sys.argv[2])
OLD = ["qemu-x86_64", "-cpu", "Nehalem"]


def logits(prefix, out, **environment):
    command = [*prefix, program, "logits", str(golden / "models/mixtral"), "--ids", "5,6,7,8,9,10,11", "--out", out]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


with tempfile.TemporaryDirectory() as folder:
    here, old = f"{folder}/here.safetensors", f"{folder}/old.safetensors"
    for prefix, out in ((), here), (OLD, old):
        done = logits(prefix, out)
        assert done.returncode == 0, f"{' '.join(prefix)}: {done.stderr}"
    assert pathlib.Path(here).read_bytes() == pathlib.Path(old).read_bytes(), "the old processor gives other bits"

    done = logits(OLD, f"{folder}/none", MIXTURA_FORCE_ISA="avx2")
    assert done.returncode == 1 and "avx2" in done.stderr, f"forced avx2 on an old processor: {done.returncode} {done.stderr}"
    done = subprocess.run([*OLD, program, "doctor"], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"the doctor on an old processor: {done.returncode} {done.stdout} {done.stderr}"
    for expected in ("warning  instruction_sets: ref is used, of ref; ", "ok       answers.ref: ", "note     answers.avx2: not run: it needs AVX2"):
        assert any(line.startswith(expected) for line in lines), f"no line starts with {expected!r}: {done.stdout}"
print("an old processor: same bits, and a clear error for what it lacks")
