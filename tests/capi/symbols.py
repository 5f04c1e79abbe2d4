#!/usr/bin/env python3
"""The library exports what the headers declare and the map lists, no more and no less; what begins with mixtura_x_ is in the
experimental node.   Usage: symbols.py LIBRARY"""
import re
import subprocess
import sys

import headers


def nodes_of_map():
    """{symbol: node}"""
    text = re.sub(r"/\*.*?\*/", " ", (headers.CAPI / "mixtura.map").read_text(encoding="utf-8"), flags=re.S)
    found = {}
    for node, body in re.findall(r"(\w[\w.]*)\s*\{(.*?)\}", text, re.S):
        for symbol in re.findall(r"\b(\w+);", body):
            assert symbol not in found, f"the map lists {symbol} twice"
            found[symbol] = node
    assert re.search(r"local:\s*\*;", text), "the map hides nothing: 'local: *;' is missing"
    return found


def nodes_of_library(path):
    found = {}
    for line in subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout.splitlines():
        _, kind, name = line.split()
        if kind == "A":
            continue  # a node's own name
        symbol, _, node = name.partition("@@")
        found[symbol] = node
    return found


listed, exported, declared = nodes_of_map(), nodes_of_library(sys.argv[1]), set(headers.functions())
problems = [f"{symbol} is declared but not in the map" for symbol in sorted(declared - listed.keys())]
problems += [f"{symbol} is in the map but not declared" for symbol in sorted(listed.keys() - declared)]
problems += [f"{symbol} is in the map but not exported" for symbol in sorted(listed.keys() - exported.keys())]
problems += [f"{symbol} is exported but not in the map" for symbol in sorted(exported.keys() - listed.keys())]
problems += [f"{symbol} is exported in node '{exported[symbol]}', the map says {listed[symbol]}"
             for symbol in sorted(listed.keys() & exported.keys()) if exported[symbol] != listed[symbol]]
problems += [f"{symbol} is in node {node}" for symbol, node in sorted(listed.items())
             if symbol.startswith("mixtura_x_") != (node == "MIXTURA_EXPERIMENTAL")]
sized = {name for name, fields in headers.structures() if fields[0] == "struct_size"}
started = {macro.removesuffix("_INIT").lower() for macro in headers.initialisers()}
problems += [f"{name} has a struct_size but no _INIT, or the reverse" for name in sorted(sized ^ started)]
print("\n".join(problems) if problems else f"{len(exported)} symbols: library, map and headers agree")
sys.exit(1 if problems else 0)
