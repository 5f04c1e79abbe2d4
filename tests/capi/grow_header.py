#!/usr/bin/env python3
"""Writes the C headers as a later version may have them: every structure with a struct_size has one more field at its end.
Usage: grow_header.py FROM_INCLUDE TO_INCLUDE"""
import pathlib
import re
import sys

for name in ("mixtura.h", "mixtura_experimental.h"):
    text = (pathlib.Path(sys.argv[1]) / "mixtura" / name).read_text()
    grown, count = re.subn(r"(typedef struct (\w+) \{\s*size_t struct_size;.*?\n)(\} \2;)", r"\1    uint64_t grown; /**< new */\n\3", text, flags=re.S)
    if count == 0:
        sys.exit(f"{name}: no structure found to grow")
    target = pathlib.Path(sys.argv[2]) / "mixtura" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(grown)
