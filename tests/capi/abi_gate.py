#!/usr/bin/env python3
"""The binary interface against the committed report, capi/abi/mixtura-0.1.abi.
Usage: abi_gate.py check LIBRARY       abidw's report of it differs from the committed one by nothing but tails that grew
       abi_gate.py renew LIBRARY       writes that report anew: part of every change that means to change the interface
       abi_gate.py self-test CC        libraries that are broken on purpose are caught, and allowed changes pass
Constants are not in such a report (they travel as int32_t); abi_test.c holds those."""
import pathlib
import re
import subprocess
import sys
import tempfile

import headers

BASELINE = headers.CAPI / "abi/mixtura-0.1.abi"


def report(library, header_folder, out):
    """abidw's view of the exported functions and the public types they reach; without paths, lines and needed libraries."""
    # Without debug information abidw still makes a report, an empty one, to which everything compares equal.
    sections = subprocess.run(["readelf", "--section-headers", "--wide", library], check=True, capture_output=True, text=True).stdout
    if " .debug_info " not in sections:
        raise SystemExit(f"{library} has no .debug_info: its interface cannot be read; build it with -g")
    subprocess.run(["abidw", "--exported-interfaces-only", "--headers-dir", header_folder, "--drop-private-types", "--no-corpus-path",
                    "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed", "--no-parameter-names", "--no-write-default-sizes",
                    "--out-file", out, library], check=True)
    text = pathlib.Path(out).read_text(encoding="utf-8")
    pathlib.Path(out).write_text(re.sub(r"(abi-instr [^>]*path=')[^']*?/(?=capi/src/|lib/)", r"\1", text), encoding="utf-8")
    return text.count("<function-decl ")


def differences(old, new, sized):
    """Nothing where `new` is compatible with `old`: the same, or structures among `sized` grew beyond their old end.  Else
    abidiff's words.  No suppression file does this: one for "data member inserted at the end" (libabigail 2.2) also hides
    fields that swap places or change their type, wherever nothing is inserted before the end."""
    done = subprocess.run(["abidiff", "--leaf-changes-only", old, new], capture_output=True, text=True)
    if done.returncode & 3:
        raise SystemExit(f"abidiff failed ({done.returncode}): {done.stderr}")
    end, is_harmless = None, True
    for line in filter(str.strip, done.stdout.splitlines() if done.returncode else []):
        if re.match(r"(Leaf changes|Changed leaf types|Removed/Changed/Added \w+) summary:", line):
            continue
        if structure := re.fullmatch(r"'struct (\w+)' changed:", line):
            end = None
            is_harmless &= structure[1] in sized
        elif sizes := re.fullmatch(r"  type size changed from (\d+) to (\d+) \(in bits\)", line):
            end = int(sizes[1])
        elif field := re.fullmatch(r"    '.*', at offset (\d+) \(in bits\)", line):
            is_harmless &= end is not None and int(field[1]) >= end
        elif not re.fullmatch(r"  \d+ data member insertions?:", line):
            is_harmless = False
    return "" if is_harmless else f"abidiff {done.returncode}\n{done.stdout}"


# ---- self-test: one small library and its variants --------------------------------------------------------------------------

HEADER = """
typedef struct thing thing;
typedef struct fixed { int x;%s } fixed;
typedef struct thing_options { unsigned long struct_size; int a; int reserved; const fixed *f; double b;%s } thing_options;
int thing_open(const thing_options *options, thing **out);
long thing_size(const thing *it);
"""
SOURCE = """
#include "thing.h"
struct thing { int hidden; };
static thing one;
int thing_open(const thing_options *options, thing **out) { *out = &one; return options != 0; }
long thing_size(const thing *it) { return it->hidden; }
"""
VARIANTS = {  # name: (header, source, is allowed)
    "the same": (HEADER % ("", ""), SOURCE, True),
    "another private member": (HEADER % ("", ""), SOURCE.replace("int hidden;", "long before; int hidden;"), True),
    "a tail that grew": (HEADER % ("", " double c; int d;"), SOURCE, True),
    "a field in the middle": (HEADER.replace("int a;", "int a; double new_one;") % ("", ""), SOURCE, False),
    "a field of another type": (HEADER.replace("double b", "float b") % ("", ""), SOURCE, False),
    "a field of another type and of the same size": (HEADER.replace("int reserved", "float reserved") % ("", ""), SOURCE, False),
    "a field of another type and a tail that grew": (HEADER.replace("int reserved", "float reserved") % ("", " double c;"), SOURCE, False),
    "fields that swapped places": (HEADER.replace("int a; int reserved;", "int reserved; int a;") % ("", ""), SOURCE, False),
    "a field removed": (HEADER.replace(" double b;", "") % ("", ""), SOURCE, False),
    "a structure that never grows grew": (HEADER % (" int y;", ""), SOURCE, False),
    "a function removed": (HEADER % ("", ""), SOURCE.replace("long thing_size", "static inline long gone"), False),
    "a function added": (HEADER % ("", ""), SOURCE + "int thing_more(void) { return 1; }", False),
    "another argument": (HEADER.replace("thing_size(const thing *it", "thing_size(const thing *it, int which") % ("", ""),
                         SOURCE.replace("thing_size(const thing *it", "thing_size(const thing *it, int which"), False),
}


def build(cc, folder, name, header, source, *flags):
    place = folder / re.sub(r"\W", "_", name)
    place.mkdir()
    (place / "thing.h").write_text(header)
    (place / "thing.c").write_text(source)
    subprocess.run([cc, "-std=c99", "-shared", "-fPIC", *flags, "-o", place / "libthing.so", place / "thing.c"], check=True)
    return place


def self_test(cc):
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        reports = {}
        for name, (header, source, _) in VARIANTS.items():
            place = build(cc, folder, name, header, source, "-g")
            reports[name] = place / "thing.abi"
            report(place / "libthing.so", place, reports[name])
        for name, (_, _, is_allowed) in VARIANTS.items():
            found = differences(reports["the same"], reports[name], {"thing_options"})
            print(f"{name}: {'differs' if found else 'passes'}, should {'pass' if is_allowed else 'differ'}")
            if bool(found) == is_allowed:
                wrong.append(f"{name}:\n{found}")
        place = build(cc, folder, "no debug information", *VARIANTS["a field in the middle"][:2])
        try:
            report(place / "libthing.so", place, place / "thing.abi")
            wrong.append("a library without debug information was accepted")
        except SystemExit as refused:
            print(f"no debug information: {refused}")
    raise SystemExit("\n".join(wrong) if wrong else 0)


task, subject = sys.argv[1], sys.argv[2]
if task == "self-test":
    self_test(subject)
if task == "renew":
    print(f"{report(subject, headers.FOLDER, BASELINE)} functions in {BASELINE}")
elif task == "check":
    with tempfile.TemporaryDirectory() as temporary:
        count = report(subject, headers.FOLDER, f"{temporary}/now.abi")
        assert count > 100, f"abidw sees {count} functions"
        sized = {name for name, fields in headers.structures() if fields[0] == "struct_size"}
        found = differences(BASELINE, f"{temporary}/now.abi", sized)
    print(found or f"the interface is the committed one ({count} functions)")
    sys.exit(1 if found else 0)
