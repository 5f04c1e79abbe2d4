"""Finding the library, the log, threads, and what is left behind."""
import ctypes.util
import gc
import importlib.util
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

from support import LIBRARY, BINDING, MODELS, mx


class Library(unittest.TestCase):
    def test_facts_without_a_model(self):
        self.assertEqual(mx.version(), "0.1.0")
        self.assertIn("0.1.0", mx.build_info())
        self.assertEqual(sum(one.is_chosen for one in mx.backends()), 1)
        self.assertEqual(mx.backends()[0].name, "ref")
        self.assertEqual(mx.feature(99), 0)

    def test_the_machine_is_checked_and_the_known_answers_hold(self):
        mx.self_test()
        checks = {one.name: one for one in mx.check_health(tempfile.gettempdir())}
        self.assertEqual(checks["answers.ref"].verdict, mx.Health.OK)
        self.assertTrue(checks["memory"].found)
        self.assertIn("free_space", checks)

    def test_messages_reach_logging(self):
        records = []
        handler = logging.Handler()
        handler.emit = records.append
        logger = logging.getLogger("test.mixtura")
        logger.setLevel(1)
        logger.propagate = False
        logger.addHandler(handler)
        mx.log_to(logger, mx.Log.TRACE)
        mx.Model(MODELS / "qwen3-moe").close()
        mx.log_to(None)
        count = len(records)
        mx.Model(MODELS / "qwen3-moe").close()
        self.assertGreater(count, 0)
        self.assertEqual(len(records), count)
        self.assertTrue(records[0].name.startswith("test.mixtura."))
        self.assertTrue(records[0].getMessage() and records[0].lineno)

    def test_a_library_that_is_not_there_is_an_error_that_says_where_it_was_sought(self):
        def fresh(path):
            specification = importlib.util.spec_from_file_location("fresh_mixtura", BINDING)
            module = importlib.util.module_from_spec(specification)
            sys.modules[specification.name] = module
            specification.loader.exec_module(module)
            return module.load(path)
        self.assertEqual(fresh(LIBRARY), str(LIBRARY))
        with self.assertRaisesRegex(Exception, "/no/such/libmixtura.so"):
            fresh("/no/such/libmixtura.so")
        with self.assertRaisesRegex(Exception, "is no library of mixtura"):
            fresh(ctypes.util.find_library("c"))
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder) / "other.c"
            other.write_text('int mixtura_version_number(void) { return 9000000; }\nconst char *mixtura_status_name(int s) { return s ? "" : "OK"; }\n'
                             'const char *mixtura_last_error_message(void) { return ""; }\n')
            library = other.with_suffix(".so")
            subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", str(other), "-o", str(library)], check=True)
            with self.assertRaisesRegex(Exception, r"version 9\.0\.0, expected 0\.1\.0"):
                fresh(library)

    def test_many_threads_may_use_one_model(self):
        with mx.Model(MODELS / "qwen3-moe") as model:
            answers = []
            def work():
                with mx.Generation(model, threads=1) as generation:
                    for _ in range(3):
                        answers.append(tuple(generation.run([1, 2, 3], sampling=mx.Sampling(temperature=0), tokens_max=10).tokens))
            threads = [threading.Thread(target=work) for _ in range(4)]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
        self.assertEqual(len(answers), 12)
        self.assertEqual(len(set(answers)), 1)

    def test_objects_that_come_and_go_leave_nothing(self):
        # In a process of its own: what other tests left in malloc's arenas moves by more than a leak would.
        program = f"""
import gc, os, pathlib, sys
sys.path.insert(0, {str(BINDING.parent)!r})
import mixtura as mx
mx.load({str(LIBRARY)!r})

def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def rounds(count):
    for _ in range(count):
        model = mx.Model({str(MODELS / "qwen3-moe")!r}, threads=1)
        generation = mx.Generation(model, threads=1, record_routes=True)
        for _ in generation.stream([1, 2, 3], sampling=mx.Sampling(temperature=0, edit_logits=lambda *_: None), tokens_max=4):
            pass
    gc.collect()

rounds(40)
before = resident()
rounds(100)
print(resident() - before)
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(int(done.stdout), 8 << 20)  # 100 models are 78 MB of weights alone
