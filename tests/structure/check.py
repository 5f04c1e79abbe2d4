#!/usr/bin/env python3
"""Holds the tree against its own rules: include ranks (cmake/layers.cmake), one noun one header, the file budget, what the
library must never call.  Usage: check.py SOURCE_DIR.  Prints every breach with file and line; exit 1 when there is one."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
problems = []

# ---- ranks -----------------------------------------------------------------------------------------------------------
rows = re.findall(r'^\s*"(\w+) *\| *(\d+) *\| *([^"]*)"', (root / "cmake/layers.cmake").read_text(), re.M)
rank = {name: int(number) for name, number, _ in rows}
allowed = {}
for name, _, uses in rows:
    rooms = {name}
    for term in uses.split():
        if span := re.fullmatch(r"(\d+)-(\d+)", term):
            rooms |= {room for room, r in rank.items() if int(span[1]) <= r <= int(span[2])}
        else:
            rooms.add(term)
            if term not in rank:
                problems.append(f"cmake/layers.cmake: {name} uses the unknown room {term}")
    for room in rooms - {name}:
        if room in rank and rank[room] >= rank[name]:
            problems.append(f"cmake/layers.cmake: {name} (rank {rank[name]}) may not use {room} (rank {rank[room]})")
    allowed[name] = rooms

# The room that implements each public header, so that a header's own includes obey the ranks too.
PUBLIC_ROOM = {
    "version.h": "base", "build.hpp": "kernels", "log.hpp": "observe", "machine.hpp": "measure", "status.hpp": "base", "types.hpp": "base", "checkpoint.hpp": "formats", "tokenizer.hpp": "tokenizer",
    "chat_template.hpp": "tokenizer", "sampler.hpp": "sampler", "kv_cache.hpp": "cache", "cache_dtypes.hpp": "cache", "router.hpp": "router",
    "expert_pool.hpp": "experts", "model.hpp": "model", "weight_mix.hpp": "model", "chat.hpp": "engine", "generation.hpp": "engine",
    "batch.hpp": "engine", "op_times.hpp": "observe", "mixtura.hpp": "engine", "doctor.hpp": "doctor",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found[1]


for path in sorted((root / "lib").rglob("*.[ch]pp")):
    room = path.relative_to(root / "lib").parts[0]
    where = path.relative_to(root)
    if room not in rank:
        problems.append(f"{where}: the room {room} is not in cmake/layers.cmake")
        continue
    for number, name in includes(path):
        if name.startswith("mixtura/"):
            owner = PUBLIC_ROOM.get(name.removeprefix("mixtura/"))
            if owner is None:
                problems.append(f"{where}:{number}: {name} has no room in PUBLIC_ROOM (tests/structure/check.py)")
            elif rank[owner] > rank[room]:
                problems.append(f"{where}:{number}: {room} (rank {rank[room]}) includes {name}, an object of {owner} (rank {rank[owner]})")
        elif "/" in name and name.split("/")[0] in rank and name.split("/")[0] not in allowed[room]:
            problems.append(f"{where}:{number}: {room} may not include {name}")
        elif name in ("nlohmann/json.hpp",) and path.suffix == ".hpp":
            problems.append(f"{where}:{number}: {name} belongs in .cpp files only")

for path in sorted((root / "include/mixtura").iterdir()):
    where = path.relative_to(root)
    if path.name not in PUBLIC_ROOM:
        problems.append(f"{where}: a public header without a room in PUBLIC_ROOM (tests/structure/check.py)")
        continue
    for number, name in includes(path):
        owner = PUBLIC_ROOM.get(name.removeprefix("mixtura/")) if name.startswith("mixtura/") else None
        if "/" in name and owner is None:
            problems.append(f"{where}:{number}: a public header includes {name}; only std and <mixtura/…> are allowed")
        elif owner and rank[owner] > rank[PUBLIC_ROOM[path.name]]:
            problems.append(f"{where}:{number}: includes {name} of a higher rank")

for folder in ("examples", "capi"):
    for path in sorted((root / folder).rglob("*.[ch]*")):
        for number, name in includes(path) if path.suffix in (".c", ".h", ".cpp", ".hpp") else ():
            if "/" in name and name.split("/")[0] in rank and name.split("/")[0] not in ("examples", "capi"):
                problems.append(f"{path.relative_to(root)}:{number}: {folder} uses the public headers only, not {name}")

# ---- one noun, one header ----------------------------------------------------------------------------------------------
nouns = {}
for path in sorted((root / "include/mixtura").glob("*.hpp")):
    for noun in re.findall(r"^class (?:\[\[\w+\]\] )?(\w+) ?(?:final )?\{", path.read_text(), re.M):
        nouns.setdefault(noun, []).append(path.name)
problems += [f"class {noun} is declared in {', '.join(files)}" for noun, files in nouns.items() if len(files) > 1]

# ---- file budget: 600 lines unless the head says why (the word "budget" or "generated" in the first 15 lines) ------------
CODE = {".cpp", ".hpp", ".h", ".c", ".cu", ".cuh", ".py", ".cmake"}
for folder in ("lib", "include", "cuda", "capi", "examples", "tests", "cmake"):
    for path in sorted((root / folder).rglob("*")):
        if path.suffix not in CODE or not path.is_file():
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > 600 and not re.search(r"budget|generated", "\n".join(lines[:15]), re.I):
            problems.append(f"{path.relative_to(root)}: {len(lines)} lines, the budget is 600")

# ---- what the library must never do --------------------------------------------------------------------------------------
FORBIDDEN = {
    r"\bgetenv\s*\(": "getenv (base/env.cpp holds the only one)",
    r"\b(?:std::)?(?:abort|_?exit|quick_exit|terminate)\s*\(": "ending the host's process",
    r"\bstd::(?:cout|cerr|clog)\b|\b(?:f|v|vf)?printf\s*\(|\bputs\s*\(": "printing",
    r"\bstd::(?:stod|stof|stoi|stol|stoll|stoull|to_string)\s*\(|\bstrto(?:d|f|l|ll|ul|ull)\s*\(|\bato[ifl]\s*\(": "locale-dependent or throwing number conversion",
    r"\bdirectory_iterator\b": "directory_iterator, which ends the process where memory is short (names_in_folder is ours)",
    r"\b(?:std::)?signal\s*\(|\bsigaction\s*\(": "a signal handler",
}
for path in sorted((root / "lib").rglob("*.[ch]pp")):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code = re.sub(r'"(?:\\.|[^"\\])*"', '""', line).split("//")[0]
        for pattern, what in FORBIDDEN.items():
            if re.search(pattern, code) and not (what.startswith("getenv") and path.name == "env.cpp"):
                problems.append(f"{path.relative_to(root)}:{number}: {what}")

# ---- every third-party header has its Debian package in the one list, and every listed header is used ----------------------
listed = {}
for line in (root / "cmake/debian-packages.txt").read_text().splitlines():
    if line and not line.startswith("#"):
        group, package, header = line.split()
        if header != "-":
            listed[header] = (group, package)
third_party = {}
OURS = set(rank) | {"mixtura", "cli", "support", "sys"}
STANDARD = {"cpuid.h", "dirent.h", "fcntl.h", "sched.h", "unistd.h", "dlfcn.h", "pthread.h", "fenv.h", "immintrin.h", "xmmintrin.h", "arm_neon.h",
            "signal.h", "termios.h", "poll.h", "errno.h", "time.h", "linux/futex.h", "gnu/libc-version.h", "stdio.h", "stdlib.h", "string.h", "stdint.h"}
for folder in ("lib", "include", "capi", "examples", "tests"):
    for path in sorted((root / folder).rglob("*.[ch]pp")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if (found := re.match(r"\s*#\s*include\s*<([^>]+)>", line)) and ("/" in found[1] or found[1].endswith((".h", ".hpp"))):
                if found[1].split("/")[0] not in OURS and found[1] not in STANDARD:
                    third_party.setdefault(found[1], f"{path.relative_to(root)}:{number}")
problems += [f"{where}: <{header}> has no package in cmake/debian-packages.txt" for header, where in third_party.items() if header not in listed]
problems += [f"cmake/debian-packages.txt: {package} is there for <{header}>, which nothing includes"
             for header, (_, package) in listed.items() if header not in third_party]

# ---- every test and source file is built ---------------------------------------------------------------------------------
for listing, pattern in (("tests/CMakeLists.txt", "tests/unit/**/*_test.cpp"), ("lib/CMakeLists.txt", "lib/**/*.cpp")):
    names = (root / listing).read_text()
    problems += [f"{path.relative_to(root)} is not in {listing}" for path in sorted(root.glob(pattern)) if path.name not in names]

# ---- the top level is fixed ----------------------------------------------------------------------------------------------
TOP = {"CMakeLists.txt", "include", "lib", "cuda", "capi", "examples", "tests", "cmake", "LICENSE", "README.md"}
for path in root.iterdir():
    if path.name not in TOP and not path.name.startswith(".") and not path.name.startswith("build"):
        problems.append(f"{path.name} does not belong at the top level")

print("\n".join(problems) if problems else "structure: no breach")
sys.exit(1 if problems else 0)
