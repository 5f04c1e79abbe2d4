#!/usr/bin/env python3
"""A text to measure tokenizers on: code, English, Chinese and emoji, the same bytes for the same Python and seed.

Code and English come from the Python that runs this (its library's sources and their docstrings); Chinese is made of
20,000 two- and three-character words drawn with Zipf frequencies, so that it neither repeats nor is uniform.
Usage: make_mixed_text.py OUT [MEGABYTES]"""
import ast, pathlib, random, sys, sysconfig

def library():
    for path in sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" in path.parts or "test" in path.parts:
            continue
        try:
            yield path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue

def docstrings(source):
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            doc = ast.get_docstring(node)
            if doc:
                yield doc + "\n\n"

def chinese(draw):
    words = ["".join(chr(draw.randrange(0x4E00, 0x8E00)) for _ in range(draw.choice((2, 2, 2, 3)))) for _ in range(20000)]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    while True:
        sentence = "".join(draw.choices(words, weights, k=draw.randrange(4, 12)))
        yield sentence + draw.choice("，。！？；") + ("\n" if draw.random() < 0.2 else "")

def emoji(draw):
    while True:
        faces = "".join(chr(draw.randrange(0x1F300, 0x1F6FF)) for _ in range(draw.randrange(1, 6)))
        yield draw.choice(["ok ", "done: ", "✅ ", "👩\u200d💻 ", "", " "]) + faces + draw.choice([" ", "\n", "!\n"])

def main():
    out, size = sys.argv[1], int(float(sys.argv[2]) * 1e6) if len(sys.argv) > 2 else 10_000_000
    draw = random.Random(20)
    sources = list(library())
    draw.shuffle(sources)
    code = iter(sources)
    english = (doc for source in reversed(sources) for doc in docstrings(source))
    streams = {"code": (0.4, code), "english": (0.25, english), "chinese": (0.28, chinese(draw)), "emoji": (0.07, emoji(draw))}
    parts = []
    for name, (share, stream) in streams.items():
        blocks, total = [], 0
        for piece in stream:
            blocks.append(piece)
            total += len(piece.encode("utf-8"))
            if total >= share * size:
                break
        text = "".join(blocks)
        parts += [text[at:at + 4000] for at in range(0, len(text), 4000)]
    draw.shuffle(parts)
    data = "".join(parts).encode("utf-8")[:size].decode("utf-8", "ignore")
    pathlib.Path(out).write_text(data, encoding="utf-8", newline="")
    print(f"{len(data.encode('utf-8'))} bytes, {len(data)} characters")

main()
