#!/usr/bin/env python3
"""Every C example in capi/README.md compiles as it stands, as strict C99.   Usage: readme.py CC INCLUDE_DIR..."""
import re
import subprocess
import sys

import headers

examples = re.findall(r"^```c\n(.*?)^```", (headers.CAPI / "README.md").read_text(encoding="utf-8"), re.S | re.M)
assert examples, "no example found"
for example in examples:
    subprocess.run([sys.argv[1], "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *(f"-I{folder}" for folder in sys.argv[2:]),
                    "-x", "c", "-"], input=example, text=True, check=True)
print(f"{len(examples)} examples compile")
