#!/usr/bin/env python3
"""Some nine thousand small templates and what Jinja2 makes of them, set up the way Hugging Face renders chat templates (as in
make_templates.py): the text, or "error" where it raises.   Needs: pip install jinja2==3.1.6 (on Python 3.11).
Usage: make_template_cases.py OUT.json"""
import itertools, json, sys
from make_template_cases_environment import render
from make_template_cases_lists import EXPRESSIONS, VARIABLES
from make_template_cases_statements import STATEMENTS

cases = STATEMENTS + ["{{ " + e + " }}" for e in EXPRESSIONS]

# Methods and filters of text, each on texts with corners: empty, spaces of all kinds, cases that grow, marks, digits.
TEXTS = ["", " ", "abc", "  a b\tc\n", "Hello World", "straße ΑΣΑΣ ς İ ŉ ǆ ﬁ", "it's o'clock", "a,b,,c", "x\r\ny\u2028z\x1c", "12", "²③½", "αβγ 你好 🦙",
         "\u00a0nb\u3000", "aaaa", "ÀÉ", "Title Case", "MiXeD-case_(word) [x] {y}", "\x00\x7f\u200b\u0301e", "'\"\\", "%d%%", "-7", "+0_1", "1e3", " 42 "]
CALLS = ["upper()", "lower()", "title()", "capitalize()", "swapcase()", "casefold()", "strip()", "lstrip()", "rstrip()", "strip('a ')", "split()", "split(',')",
         "split(none, 1)", "rsplit(none, 1)", "split('a', 1)", "rsplit('a', 2)", "splitlines()", "splitlines(true)", "partition('a')", "rpartition('a')", "isalnum()",
         "isalpha()", "isascii()", "isdecimal()", "isdigit()", "isidentifier()", "islower()", "isnumeric()", "isprintable()", "isspace()", "istitle()", "isupper()",
         "center(9)", "center(8, '*')", "ljust(7)", "rjust(7, '0')", "zfill(6)", "expandtabs(4)", "replace('a', 'bb')", "replace('', '-')", "replace('a', '', 1)",
         "find('a')", "rfind('a')", "count('a')", "count('')", "startswith('a')", "endswith(('c', ' '))", "removeprefix('a')", "removesuffix('c')", "find('', 2)", "find('', 99)",
         "encode", "index('a')"]
FILTERS = ["upper", "lower", "title", "capitalize", "trim", "trim('a')", "length", "list", "first", "last", "reverse", "join('|')", "wordcount", "indent", "indent(2, true, true)",
           "truncate(6)", "truncate(6, true)", "truncate(6, false, '…', 0)", "center(10)", "int", "float", "int(-1, 16)", "tojson", "tojson(ensure_ascii=true)", "urlencode", "escape",
           "string", "replace('a', 'X', 1)", "sort", "unique|list", "batch(2)|list", "slice(2)|list", "min", "max", "default('d', true)", "select('upper')|list", "map('upper')|join"]
for call in CALLS: cases += ["{{ " + f"texts[{i}].{call}" + "|tojson }}" if "encode" not in call else "{{ " + f"texts[{i}].{call} is string" + " }}" for i in range(len(TEXTS))]
for name in FILTERS: cases += ["{{ " + f"texts[{i}]|{name}" + " }}" for i in range(len(TEXTS))]
cases += ["{{ [texts[" + str(i) + "]] }}" for i in range(len(TEXTS))]  # repr
cases += [f"{{{{ texts[{i}][{s}] }}}}" for i in (3, 5, 11) for s in ("0", "-1", "99", "1:", ":-1", "::2", "::-1", "-3:", "2:1", ":1:-1", "5:0:-2", "none:none", "true")]

# Every operator and every test on every pair of kinds.
VALUES = ["none", "true", "7", "-2", "2.5", "'a'", "'ab'", "[1, 2]", "[]", "(1, 2)", "{'a': 1}", "{}", "missing", "range(3)", "ns", "[1]|map('string')", "{'a': 1}.items()"]
for op in ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", ">=", "in", "not in", "~", "and", "or", "is sameas", "is eq", "is in"]:
    cases += [f"{{{{ {a} {op} ({b}) }}}}" for a, b in itertools.product(VALUES[:14], VALUES[:14]) if not (op == "~" and "ns" in (a, b))]
for test in ["defined", "undefined", "none", "boolean", "true", "false", "integer", "float", "number", "string", "mapping", "sequence", "iterable", "callable", "odd", "even", "lower",
             "upper", "escaped", "divisibleby 2", "divisibleby(0)", "filter", "test", "in [1, 7, 'a', none]", "not none"]:
    cases += [f"{{{{ ({a}) is {test} }}}}" for a in VALUES]
for name in ["length", "list", "first", "last", "join(',')", "sum", "abs", "round", "int", "float", "string", "sort", "min", "max", "tojson", "reverse|list", "unique|list", "items|list",
             "dictsort", "upper", "default('x')", "attr('real')", "trim", "select|list", "map('upper')|list", "batch(2)|list", "tojson(indent=2)", "replace('a', 'b')", "e", "safe"]:
    cases += [f"{{{{ ({a})|{name} }}}}" for a in VALUES if not (a in ("ns", "[1]|map('string')") and name in ("string", "upper", "trim", "e", "safe", "default('x')", "replace('a', 'b')"))]
for a in VALUES: cases += [f"{{{{ ({a}).nope }}}}", f"{{{{ ({a})['nope'] }}}}", f"{{{{ ({a})[0] }}}}", f"{{{{ ({a})[1:] }}}}", f"{{{{ ({a})() }}}}", f"{{% for x in {a} %}}{{{{ x }}}};{{% else %}}none{{% endfor %}}", f"{{{{ 'yes' if {a} else 'no' }}}}", f"{{{{ -({a}) }}}}"]

# Numbers in every format.
NUMBERS = ["0", "1", "-1", "255", "1234567", "1.0", "-0.0", "0.1", "1e16", "123456789012345680.0", "1e-5", "0.0001", "2.675", "1e22", "5e-324", "1e100"]
for spec in ["", "d", "5d", "<5d", "^7", "+", " ", "05", "x", "#x", "b", "o", "X", "c", ",", "_", ".2f", "10.3f", "e", ".3e", "g", ".3g", "%", ".1%", "*^12", "=+8", "n", "s", ".3", "G"]:
    if spec != "n": cases += [f"{{{{ '{{:{spec}}}'.format({n}) }}}}" for n in NUMBERS]
for spec in ["%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%x", "%#x", "%X", "%o", "%f", "%.2f", "%8.3f", "%e", "%.3g", "%G", "%s", "%r", "%10s", "%-10s|", "%.2s", "%c", "%i", "%u", "%%", "%5.3d", "%q"]:
    cases += [f"{{{{ '{spec}' % {n} }}}}" for n in NUMBERS[:3] + ["3.7", "'a'", "none", "[1]", "(1,)", "(1, 2)", "{'k': 2}"]]
cases += [f"{{{{ {n} }}}}|{{{{ {n}|tojson }}}}|{{{{ [{n}] }}}}" for n in NUMBERS]
cases += [f"{{{{ {n}|round({p}) }}}}" for n in ["2.5", "3.5", "2.675", "-2.5", "1234.5678", "5", "0.15", "1e22"] for p in ("0", "1", "2", "-2", "0, 'ceil'", "1, 'floor'")]
for d in "aAbBcCdDeFgGHIjklmMnprRStTuUVwWxXyYzZ%f": cases += ["{{ strftime_now('%" + d + "') }}", "{{ strftime_now('%-" + d + "|%_" + d + "|%^" + d + "') }}"] if d not in "f" else ["{{ strftime_now('%f') }}"]

# What is left out, and why.
SKIPPED = {
    "Jinja folds a slice of a constant at compile time, where it never fails; of a variable it fails": [f"{{{{ ({a})[1:] }}}}" for a in VALUES[:6] + ["{'a': 1}", "{}"]] + ["{{ [1, 2, 3]['a':] }}"],
    "prints an address or CPython's bytes": ["{{ table.items }}", "{{ user|attr('upper') }}", "{{ user.encode('utf8') }}"],
    "depends on which constants CPython keeps once": ["{{ 2.5 is sameas (2.5) }}", "{{ 'ab' is sameas ('ab') }}"],
    "not supported: complex numbers, digits of other scripts, names of characters, blocks' self": ["{{ -2 ** (2.5) }}", "{{ '٣'|int == 3 }}", "{{ '\\N{BULLET}' }}", "{{ self is defined }}"],
    "a loop's variable after the loop prints an internal marker": [t for t in cases if "set ns.m = m" in t],
}
skipped = {t for templates in SKIPPED.values() for t in templates}
assert skipped <= set(cases), skipped - set(cases)

variables = dict(VARIABLES, texts=TEXTS)
seen, rows = set(skipped), []
for source in cases:
    if source in seen: continue
    seen.add(source)
    row = dict(template=source)
    row.update(render(source, variables))
    assert " at 0x" not in row.get("text", ""), row
    rows.append(row)
json.dump(dict(now="2026-07-04T12:30:00", variables=variables, cases=rows), open(sys.argv[1], "w"), ensure_ascii=True, indent=0)
print(len(rows), "cases,", sum("error" in r for r in rows), "errors")
