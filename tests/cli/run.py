#!/usr/bin/env python3
"""Transcripts of the command-line program: cases/<name>.sh is run by sh in an empty folder, and what it prints and how it ends
must equal cases/<name>.stdout, .stderr and .exit byte by byte (a file that is not there stands for nothing printed and 0).

Usage: run.py PROGRAM GOLDEN_DATA [--update] [--cases=FOLDER] [name…]
--update writes the expectations instead; read them before you commit.  --cases names another folder beside this file than
cases/; default_model_cases/ finds the default model in the user's cache folder, where build_models.py had it put.

In a script `mixtura` is the program, $GOLDEN the golden data, and tools/ lies on PATH.  In expectations $GOLDEN and $HERE stand
for the data's and the empty folder's path.  Comments in a script's head change where stdout goes:
  # stdout: terminal       a terminal of 80 columns (its line ends come back as plain newlines)
  # stdout: closed pipe    a pipe nobody reads any more
Exit codes are the shell's: 128 + n for a script that ended with signal n."""
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
program, golden = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
update = "--update" in sys.argv
cases = here / next((argument.removeprefix("--cases=") for argument in sys.argv if argument.startswith("--cases=")), "cases")
timeout = 120 if cases.name == "cases" else 600  # seconds a script; a real model takes its time to load on a busy disk
wanted = [argument for argument in sys.argv[3:] if not argument.startswith("--")]


def run(script, folder):
    """(stdout, stderr, exit code) of one script."""
    commands = pathlib.Path(folder) / ".path"
    commands.mkdir()
    (commands / "mixtura").symlink_to(program)
    environment = {"PATH": f"{commands}:{here / 'tools'}:{os.environ['PATH']}", "GOLDEN": str(golden), "HOME": folder, "LC_ALL": "C", "TERM": "xterm"}
    if cases.name != "cases":
        environment["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            environment[name] = os.environ[name]
    directive = re.search(r"^# stdout: (.*)$", script.read_text(encoding="utf-8"), re.M)
    where = directive[1] if directive else "pipe"
    arguments = dict(args=["sh", str(script)], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if where == "pipe":
        done = subprocess.run(stdout=subprocess.PIPE, timeout=timeout, **arguments)
        return done.stdout, done.stderr, done.returncode
    if where == "closed pipe":
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(stdout=writer, timeout=timeout, **arguments)
        os.close(writer)
        return b"", done.stderr, done.returncode
    if where != "terminal":
        raise SystemExit(f"{script}: unknown stdout {where!r}")
    master, slave = pty.openpty()
    process = subprocess.Popen(stdout=slave, **arguments)
    os.close(slave)
    stdout = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # how Linux says that the other side is closed
            piece = b""
        if not piece:
            break
        stdout += piece
    os.close(master)
    stderr = process.stderr.read()
    return stdout.replace(b"\r\n", b"\n"), stderr, process.wait(timeout=timeout)


def check(script):
    with tempfile.TemporaryDirectory(prefix="mixtura-cli-") as folder:
        stdout, stderr, code = run(script, folder)
        code = 128 - code if code < 0 else code
        found = {}
        for kind, content in (("stdout", stdout), ("stderr", stderr)):
            found[kind] = content.replace(str(golden).encode(), b"$GOLDEN").replace(folder.encode(), b"$HERE")
        found["exit"] = b"" if code == 0 else f"{code}\n".encode()
    problems = []
    for kind, content in found.items():
        path = script.with_suffix(f".{kind}")
        expected = path.read_bytes() if path.exists() else b""
        if content == expected:
            continue
        if update:
            path.write_bytes(content) if content else path.unlink()
        else:
            problems.append(f"{script.stem}: {kind} differs\n--- expected\n{expected.decode(errors='backslashreplace')}--- found\n"
                            f"{content.decode(errors='backslashreplace')}---")
    return problems


scripts = [script for script in sorted(cases.glob("*.sh")) if not wanted or script.stem in wanted]
problems = [problem for script in scripts for problem in check(script)]
known = {script.stem for script in cases.glob("*.sh")}
problems += [f"{path.name} belongs to no script" for path in sorted(cases.iterdir()) if path.stem not in known]
print("\n".join(problems) if problems else f"{len(scripts)} transcripts hold")
sys.exit(1 if problems or not scripts else 0)
