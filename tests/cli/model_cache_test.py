#!/usr/bin/env python3
"""examples/model_cache.py with a build script of a second instead of the real one, and no network: several runs at once, a
run that is killed, what comes out wrong, a full disk.  Prints each check; exit 1 when one fails."""
import contextlib
import io
import os
import pathlib
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import model_cache

SCRIPT = """import pathlib, sys, time
base, recipe, out = map(pathlib.Path, sys.argv[1:4])
with open(recipe.parent / "log", "a") as log: log.write("built\\n")
with open(out, "wb") as file:
    file.write(b"first half, "); file.flush(); time.sleep(1); file.write(base.read_bytes())
"""
failures = []


def check(name, is_good, detail=""):
    print(("ok    " if is_good else "FAIL  ") + name + ("" if is_good else f": {detail!r}"), flush=True)
    if not is_good:
        failures.append(name)


def build(folder, sha256, size_bytes=100):
    model_cache.build(folder / "cache", [model_cache.Job("model.gguf", folder / "script.py", folder / "recipe", "q8_0", sha256, size_bytes)])


def started(folder, sha256):
    """The process id of a build that runs beside this one."""
    if (child := os.fork()) == 0:
        try:
            build(folder, sha256)
        finally:
            os._exit(0)
    return child


def refusal(folder, sha256, size_bytes=100):
    try:
        build(folder, sha256, size_bytes)
    except SystemExit as end:
        return str(end)
    return "no refusal"


model_cache.pip = lambda *arguments: None
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    cache, target = folder / "cache", folder / "cache/model.gguf"
    for file, content in (("base", "second half"), ("recipe", ""), ("script.py", SCRIPT), ("whole", "first half, second half")):
        (folder / file).write_text(content)
    model_cache.smollm2 = lambda: folder / "base"
    right = model_cache.checksum(folder / "whole")

    said = refusal(folder, "0" * 64)
    check("what comes out with another checksum is refused", right in said and not target.exists(), said)
    said = refusal(folder, right, 10**18)
    check("a disk without room is told beforehand", "MB free" in said and not target.exists(), said)
    (folder / "script.py").write_text("raise SystemExit(3)")
    said = refusal(folder, right)
    check("a build script that fails leaves nothing", "could not build" in said and list(cache.iterdir()) == [cache / ".lock"], said)
    (folder / "script.py").write_text(SCRIPT)

    child = started(folder, right)
    while not list(cache.glob(".work-*/part")):
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    check("a build that is killed leaves no model", not target.exists() and list(cache.glob(".work-*")))
    time.sleep(1.5)  # its script runs on without it, to its end
    (folder / "log").unlink()
    with contextlib.redirect_stderr(io.StringIO()) as told:
        children = [started(folder, right) for _ in range(3)]
        build(folder, right)
    for child in children:
        os.waitpid(child, 0)
    check("runs at once build one model, once", (folder / "log").read_text() == "built\n", (folder / "log").read_text())
    check("the model is whole", target.read_text() == "first half, second half")
    check("nothing else is left", sorted(cache.iterdir()) == [cache / ".lock", target], list(cache.iterdir()))
    check("nothing is told in a pipe", told.getvalue() == "", told.getvalue())

print(f"{len(failures)} failed")
sys.exit(1 if failures else 0)
