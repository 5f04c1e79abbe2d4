#!/usr/bin/env python3
"""Prints abi_test.c as the headers and this machine's C compiler have it now, or with --compare FILE says what FILE lacks
or has otherwise.   Usage: abi_print.py CC VERSION_H_DIR [--compare FILE]
Regenerate with:  tests/capi/abi_print.py cc include > tests/capi/abi_test.c  — which is to say that the ABI changed."""
import difflib
import pathlib
import subprocess
import sys
import tempfile

import headers

HEAD = """\
/* The frozen layout of every public structure and the value of every constant, as numbers: what a program compiled years
 * ago has in it.  Generated once; regenerate with "tests/capi/abi_print.py cc include > tests/capi/abi_test.c", which says
 * that the ABI changed.  From 0.2 on only lines for new things and for tails that grew may come. */
#define MIXTURA_ENABLE_EXPERIMENTAL 1
#include <mixtura/mixtura_experimental.h>

#include <stdio.h>
#include <string.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define FIELD(type, field, at, bytes)                                                  \\
    _Static_assert(offsetof(type, field) == (at), "offset of " #type "." #field);      \\
    _Static_assert(sizeof(((type *)0)->field) == (bytes), "size of " #type "." #field)
#define VALUE(name, number) _Static_assert((name) == (number), "value of " #name)

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "these are the numbers of 64-bit machines");
_Static_assert(sizeof(mixtura_status) == 4 && (mixtura_status)-1 < 0, "mixtura_status is int32_t");
_Static_assert(sizeof(mixtura_sequence) == 8 && (mixtura_sequence)-1 > 0, "mixtura_sequence is uint64_t");
"""
PROBE_HEAD = """#define MIXTURA_ENABLE_EXPERIMENTAL 1
#include <mixtura/mixtura_experimental.h>
#include <stdio.h>
#include <inttypes.h>
int main(void) {
"""


def probe(cc, version_dir, lines):
    """What a C program of these statements prints."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "probe.c")
        source.write_text(PROBE_HEAD + "\n".join(lines) + "\nreturn 0;\n}\n")
        includes = [f"-I{headers.CAPI / 'include'}", f"-I{version_dir}"]
        subprocess.run([cc, "-std=c11", *includes, "-o", f"{folder}/probe", source], check=True)
        return subprocess.run([f"{folder}/probe"], check=True, capture_output=True, text=True).stdout


def is_integer(value):
    return not value.startswith('"') and not value.startswith("(-3.4")


def printed(cc, version_dir):
    lines = []
    for name, fields in headers.structures():
        lines.append(f'printf("\\nSIZE({name}, %zu);\\n", sizeof({name}));')
        for field in fields:
            lines.append(f'printf("FIELD({name}, {field}, %zu, %zu);\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
    lines.append('puts("");')
    # Version macros stand in version.h and are meant to change.
    integers = [name for name, value in headers.macros().items() if is_integer(value) and name != "MIXTURA_VERSION_NUMBER"]
    for name in headers.enumerators():
        lines.append(f'printf("VALUE({name}, %d);\\n", (int)({name}));')
    for name in integers:
        lines.append(f'if (({name}) < 0) printf("VALUE({name}, %" PRId64 "%s);\\n", (int64_t)({name}) + (({name}) == INT32_MIN), '
                     f'({name}) == INT32_MIN ? " - 1" : "");\n'
                     f'else printf("VALUE({name}, 0x%" PRIX64 "%s);\\n", (uint64_t)({name}), (uint64_t)({name}) > INT32_MAX ? "U" : "");')
    body = probe(cc, version_dir, lines)

    tail = ["", "static int failures = 0;", "", "static void expect(int is_so, const char *what) {",
            "    if (is_so) return;", '    printf("%s\\n", what);', "    ++failures;", "}", "", "int main(void) {"]
    for name, value in headers.macros().items():
        if value.startswith('"'):
            tail.append(f'    expect(strcmp({name}, {value}) == 0, "{name}");')
        elif not is_integer(value):
            tail.append(f'    expect({name} == -0x1.fffffep+127F && sizeof({name}) == sizeof(float), "{name}");')
    tail.append("    /* Every _INIT names all fields (a missing one is a warning, an error here) and states the structure's size. */")
    for name in headers.initialisers():
        structure = name.removesuffix("_INIT").lower()
        tail.append(f'    {{\n        const {structure} fresh = {name};\n'
                    f'        expect(fresh.struct_size == sizeof fresh, "{name}");\n    }}')
    tail += ["    return failures == 0 ? 0 : 1;", "}", ""]
    return HEAD + body + "\n".join(tail)


now = printed(sys.argv[1], sys.argv[2])
if "--compare" not in sys.argv:
    print(now, end="")
    sys.exit(0)
frozen = pathlib.Path(sys.argv[4]).read_text(encoding="utf-8")
difference = [line for line in difflib.unified_diff(frozen.splitlines(), now.splitlines(), "abi_test.c", "the headers", n=0, lineterm="")]
print("\n".join(difference) if difference else f"abi_test.c covers {now.count('FIELD(') - 1} fields and {now.count('VALUE(') - 1} constants")
sys.exit(1 if difference else 0)
