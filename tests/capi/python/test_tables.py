"""The tables of mixtura.py against the headers and the library they mirror."""
import ctypes
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy as np

from support import ROOT, mx


HEADERS = "\n".join((ROOT / "capi/include/mixtura" / name).read_text() for name in ("mixtura.h", "mixtura_experimental.h"))
CODE = re.sub(r"/\*.*?\*/", "", HEADERS, flags=re.S)


def compiled(lines):
    """What a C program of these printf lines prints."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "sizes.c"
        source.write_text('#define MIXTURA_ENABLE_EXPERIMENTAL\n#include <mixtura/mixtura_experimental.h>\n#include <stdio.h>\n#include <stddef.h>\n'
                          "static void bytes(const void *p, size_t n) { for (size_t i = 0; i < n; ++i) printf(\"%02x\", ((const unsigned char *)p)[i]); puts(\"\"); }\n"
                          "int main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n")
        program = pathlib.Path(folder) / "sizes"
        subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c99", f"-I{ROOT / 'capi/include'}", f"-I{ROOT / 'include'}", str(source), "-o", str(program)], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]


class Tables(unittest.TestCase):
    def structures(self):
        return {name: kind for name, kind in mx._TYPES.items() if isinstance(kind, type) and issubclass(kind, ctypes.Structure)}

    def test_every_structure_has_the_size_and_the_offsets_of_the_header(self):
        declared = set(re.findall(r"^typedef struct mixtura_(\w+) \{", CODE, re.M))
        self.assertEqual(declared, set(self.structures()))
        lines, expected = [], []
        for name, kind in self.structures().items():
            lines.append(f'printf("{name} %zu\\n", sizeof(mixtura_{name}));')
            expected.append(f"{name} {ctypes.sizeof(kind)}")
            body = re.search(rf"^typedef struct mixtura_{name} \{{(.*?)^\}}", CODE, re.M | re.S)[1]
            self.assertEqual(re.findall(r"(\w+)(?:\[\w+\])?;", body), [field[0] for field in kind._fields_], name)
            for field, *_ in kind._fields_:
                lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof(mixtura_{name}, {field}), sizeof(((mixtura_{name} *)0)->{field}));')
                expected.append(f"{name}.{field} {getattr(kind, field).offset} {getattr(kind, field).size}")
        self.assertEqual(compiled(lines), expected)

    def test_every_structure_starts_as_its_init_value(self):
        names = [name for name, kind in self.structures().items() if kind._fields_[0][0] == "struct_size"]
        self.assertEqual({name.upper() for name in names}, set(re.findall(r"#define MIXTURA_(\w+)_INIT", CODE)))
        got = compiled([f"{{ const mixtura_{name} one = MIXTURA_{name.upper()}_INIT; bytes(&one, sizeof one); }}" for name in names])
        self.assertEqual(got, [bytes(mx._new(name)).hex() for name in names])

    def test_every_constant_of_the_header_is_there_with_its_value(self):
        families = {"FEATURE": mx.Feature, "LOG": mx.Log, "ABOUT": mx.About, "ADDED_TOKENS": mx.AddedTokens, "ADD_BOS": mx.AddBos,
                    "TOKEN_IS": mx.TokenIs, "SCORING": mx.Scoring, "GROUP_SCORE": mx.GroupScore, "OVERFLOW": mx.Overflow,
                    "ACTIVATION": mx.Activation, "WEIGHT_AT": mx.WeightAt, "FINISH": mx.Finish, "HEALTH": mx.Health}
        python = {f"{prefix}_{one.name}": int(one) for prefix, family in families.items() for one in family}
        python.update({one.name: int(one) for one in mx.Code})
        python.update({f"DTYPE_{'BOOLEAN' if name == 'bool' else name.upper()}": code for name, code in mx.DTYPES.items()})
        python.update({f"CACHE_{name.upper().replace('+', '_')}": code for name, code in mx.CACHE_DTYPES.items()})
        header = {name: int(value) for name, value in re.findall(r"^    MIXTURA_(\w+) = (-?\d+),?", CODE, re.M)}
        self.assertEqual(python, header)
        values = compiled(['printf("%d %d %d %llu %.9g %d\\n", MIXTURA_NO_TOKEN, MIXTURA_TENSOR_RANK_MAX, MIXTURA_KV_BLOCK_TOKENS, (unsigned long long)'
                           'MIXTURA_UNSET_SEED, (double)MIXTURA_UNSET_FLOAT, MIXTURA_UNSET_INT32);'])
        self.assertEqual(values, [f"{mx.NO_TOKEN} {mx.TENSOR_RANK_MAX} {mx.KV_BLOCK_TOKENS} {mx.UNSET_SEED} {mx.UNSET_FLOAT:.9g} {mx.UNSET_INT32}"])
        self.assertEqual(tuple(re.findall(r'#define MIXTURA_ROLE_\w+ "(\w+)"', CODE)), mx.ROLES)

    def kind(self, parameter):
        """The table's letter of a C parameter or result, or the class of letters."""
        text = re.sub(r"\bmixtura_(status)\b", "int32_t", parameter).replace("const ", "").strip()
        scalars = {"int32_t": "i", "int": "i", "int64_t": "l", "uint64_t": "u", "mixtura_sequence": "u", "size_t": "z", "uint32_t": "I", "void": "v"}
        pointers = {"char *": "s", "size_t *": "Z", "int64_t *": "L", "mixtura_sequence *": "U"}
        words = re.fullmatch(r"(.*?[\s*])\w+", text) if text not in scalars and not text.endswith("*") else None
        text = (words[1] if words else text).replace(" *", "*").replace("*", " *").strip()
        if text in scalars:
            return scalars[text]
        if text in pointers:
            return pointers[text]
        if text.count("*") == 2:
            return "P"
        if found := re.fullmatch(r"mixtura_(\w+) \*", text):
            return "*" + found[1] if found[1] in self.structures() else "p"
        if found := re.fullmatch(r"mixtura_(\w+)", text):
            return found[1]
        return "p"

    def test_every_function_and_callback_has_the_parameters_of_the_header(self):
        flat = re.sub(r"\s+", " ", CODE)
        functions = re.findall(r"MIXTURA_API (?:MIXTURA_MUST_USE )?([\w ]+? \*?)mixtura_(\w+)\(([^)]*)\) MIXTURA_NOEXCEPT", flat)
        callbacks = re.findall(r"typedef (\w+) \(\*mixtura_(\w+)\)\(([^)]*)\)", flat)
        for declared, table in ((functions, mx._FUNCTIONS), (callbacks, mx._CALLBACKS)):
            listed = {words[0]: words[1:] for words in (line.split() for line in table.split("\n")) if words}
            self.assertEqual({name for _, name, _ in declared}, set(listed))
            for result, name, parameters in declared:
                expected = [self.kind(result)] + [self.kind(one) for one in parameters.split(",") if one.strip() not in ("", "void")]
                got = list(listed[name])
                self.assertEqual(len(got), len(expected), name)
                for mine, theirs in zip(got, expected):
                    # Memory of the caller's is p, whatever it holds: texts out, arrays in, structures in callbacks.
                    is_memory = mine == "p" and (theirs in ("s", "L") or theirs[0] == "*")
                    self.assertTrue(mine == theirs or is_memory, f"{name}: {mine} for {theirs} in {got}, expected {expected}")

    def test_element_types_have_the_librarys_names_and_sizes(self):
        for name, kind in mx._NUMPY_OF.items():
            self.assertEqual(mx._block(name), (1, np.dtype(kind).itemsize), name)
        self.assertEqual(mx._block("q4_k"), (256, 144))
        for name, code in mx.DTYPES.items():
            self.assertEqual(mx._function("dtype_name")(code).decode(), name)
