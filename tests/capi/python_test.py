#!/usr/bin/env python3
"""examples/python/mixtura.py against the headers it mirrors, against the golden references, and against numpy in float64: runs
the tests in python/.

Usage: python_test.py LIBMIXTURA.SO GOLDEN_DATA [test_chat, test_chat.Chats.test_…]
Wants numpy (Debian's python3-numpy) and a C compiler ($CC, else cc).  Where the python that runs it has no numpy, Debian's own
takes over; where that has none either, it fails."""
import faulthandler
import importlib.util
import os
import pathlib
import sys
import unittest

DEBIAN = "/usr/bin/python3"
if len(sys.argv) < 3:
    sys.exit(__doc__)
if importlib.util.find_spec("numpy") is None:
    if os.path.realpath(sys.executable) == os.path.realpath(DEBIAN) or not os.access(DEBIAN, os.X_OK):
        sys.exit(f"neither {sys.executable} nor {DEBIAN} has numpy: install python3-numpy")
    os.execv(DEBIAN, [DEBIAN, *sys.argv])

for name, argument in zip(("MIXTURA_LIBRARY", "MIXTURA_GOLDEN"), sys.argv[1:3]):
    os.environ[name] = str(pathlib.Path(argument).resolve())
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # of the programs that tests start
sys.dont_write_bytecode = True
folder = pathlib.Path(__file__).resolve().parent / "python"
sys.path.insert(0, str(folder))
faulthandler.dump_traceback_later(240, exit=True)  # an answer that never ends says where it waits
wanted = sys.argv[3:] or sorted(path.stem for path in folder.glob("test_*.py"))
unittest.main(module=None, argv=[sys.argv[0], *wanted])
