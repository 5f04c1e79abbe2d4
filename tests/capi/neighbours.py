#!/usr/bin/env python3
"""libmixtura.so beside llama.cpp in one process, in both load orders, each seeing the other's symbols (RTLD_GLOBAL): both
answer, and mixtura's logits are the same bits as alone.  llama.cpp comes out of a PyPI package, a module that exports
llama_* and its own nlohmann-json.  Usage: neighbours.py LIBMIXTURA GOLDEN SMOLLM2.gguf WORK_FOLDER"""
import ctypes
import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import model_cache

PACKAGE, VERSION = "xllamacpp", "2026.10.11549"
MEMBER, SHA256 = "xllamacpp/xllamacpp.abi3.so", "78dcbbfcc861ee3377554325dc12864829a76ec3de6f1882886d4a82a2def7f5"
TOKENS = [3, 14, 15, 92, 65, 35]


def load_mixtura(path):
    return ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_GLOBAL)


def load_llama(path):
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
    loader = importlib.machinery.ExtensionFileLoader("xllamacpp", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("xllamacpp", loader))
    loader.exec_module(module)
    return module


def mixtura_logits(library, model_path):
    library.mixtura_last_error_message.restype = ctypes.c_char_p

    def must(status):
        if status != 0:
            sys.exit(f"mixtura: {library.mixtura_last_error_message().decode()}")

    model, generation = ctypes.c_void_p(), ctypes.c_void_p()
    must(library.mixtura_model_open(model_path.encode(), None, ctypes.byref(model)))
    must(library.mixtura_generation_create(model, None, ctypes.byref(generation)))
    must(library.mixtura_generation_feed(generation, (ctypes.c_int32 * len(TOKENS))(*TOKENS), ctypes.c_size_t(len(TOKENS)), None))
    logits, count = ctypes.POINTER(ctypes.c_float)(), ctypes.c_size_t()
    must(library.mixtura_generation_logits(generation, ctypes.byref(logits), ctypes.byref(count)))
    values = ctypes.string_at(logits, count.value * 4).hex()
    # The failure path throws and catches C++ exceptions inside the library.
    if library.mixtura_model_open(b"/nowhere", None, ctypes.byref(ctypes.c_void_p())) != -21:
        sys.exit("mixtura: a path that does not exist was not NOT_FOUND")
    library.mixtura_model_destroy(model)
    library.mixtura_generation_destroy(generation)
    return values


def llama_answer(module, model_path):
    parameters = module.CommonParams()
    parameters.model.path = model_path
    parameters.n_ctx, parameters.n_parallel, parameters.cpuparams.n_threads = 256, 1, 2
    answer = module.Server(parameters).handle_completions({"prompt": "The capital of France is", "max_tokens": 4, "temperature": 0})
    return answer["choices"][0]["text"]


def child(order, library, golden, smollm2, module):
    loaded = {}
    for name in order.split(","):
        loaded[name] = load_mixtura(library) if name == "mixtura" else load_llama(module)
    logits = mixtura_logits(loaded["mixtura"], f"{golden}/models/qwen3-moe")
    if "llama" in loaded:
        if "Paris" not in (text := llama_answer(loaded["llama"], smollm2)):
            sys.exit(f"llama.cpp answered {text!r}")
        if mixtura_logits(loaded["mixtura"], f"{golden}/models/qwen3-moe") != logits:
            sys.exit("mixtura's logits changed after llama.cpp had run")
    print(logits)


def main():
    if sys.argv[1] == "--child":
        return child(*sys.argv[2:])
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    library, golden, smollm2, work = sys.argv[1:]
    module = model_cache.fetch_member(pathlib.Path(work) / "xllamacpp.abi3.so", PACKAGE, VERSION, MEMBER, SHA256)
    seen = {}
    for order in ("mixtura", "mixtura,llama", "llama,mixtura"):
        run = subprocess.run([sys.executable, __file__, "--child", order, library, golden, smollm2, str(module)],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if run.returncode != 0:
            sys.exit(f"load order {order}: exit status {run.returncode}\n{run.stderr[-3000:]}")
        seen[order] = run.stdout.strip().splitlines()[-1]
    if len(set(seen.values())) != 1:
        sys.exit("mixtura's logits depend on what else is loaded: " + ", ".join(f"{o}: {v[:32]}…" for o, v in seen.items()))
    print(f"the same {len(seen['mixtura']) // 8} logits alone and in both load orders; llama.cpp answers in both")


if __name__ == "__main__":
    main()
