"""What the tests of mixtura.py share: the binding itself, arrays of the golden data, and a model that chats."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

import numpy as np

LIBRARY, GOLDEN = (pathlib.Path(os.environ[name]) for name in ("MIXTURA_LIBRARY", "MIXTURA_GOLDEN"))
ROOT = pathlib.Path(__file__).resolve().parents[3]
BINDING = ROOT / "examples/python/mixtura.py"
sys.path.insert(0, str(BINDING.parent))
import mixtura as mx

MODELS = GOLDEN / "models"
TOLERANCE = 2e-5  # largest difference by largest value, as tests/support/model_harness.hpp has it


def safetensors(path):
    """Arrays by name; bf16 as uint16."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    kinds = {"F32": "<f4", "I64": "<i8", "BF16": "<u2", "I32": "<i4", "F64": "<f8", "U8": "|u1"}
    return {name: np.frombuffer(data, kinds[one["dtype"]], offset=8 + size + one["data_offsets"][0],
                                count=int(np.prod(one["shape"]))).reshape(one["shape"])
            for name, one in json.loads(data[8:8 + size]).items() if name != "__metadata__"}


def floats(bf16):
    return (bf16.astype("<u4") << 16).view("<f4")


def difference(got, expected):
    return float(np.abs(np.asarray(got, "f8") - expected).max() / np.abs(expected).max())


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


TEMPLATE = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
SPECIALS = ["<pad>", "<bos>", "<eos>", "<|im_start|>", "<|im_end|>"]


def chatting_model(folder):
    """A checkpoint of 160 tokens with a tokenizer made for it: bytes as GPT-2 spells them."""
    folder = pathlib.Path(folder)
    source = MODELS / "qwen3-moe"
    for name in ("config.json", "model.safetensors"):
        (folder / name).symlink_to(source / name)
    visible = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    spelled = {b: chr(b) for b in visible}
    spelled.update({b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in spelled)})
    wanted = [*range(0x20, 0x7f), 0x0a, *(b for b in range(0x80, 0xc0))]
    vocabulary = {text: i for i, text in enumerate(SPECIALS)}
    for b in wanted[:160 - len(SPECIALS)]:
        vocabulary[spelled[b]] = len(vocabulary)
    added = [{"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i, text in enumerate(SPECIALS)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "pre_tokenizer": byte_level, "post_processor": None,
        "decoder": byte_level, "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                                         "fuse_unk": False, "byte_fallback": False, "vocab": vocabulary, "merges": []}}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<bos>", "eos_token": "<|im_end|>", "chat_template": TEMPLATE}))
    return folder


class WithChat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.model = mx.Model(chatting_model(cls.folder.name), threads=2)

    @classmethod
    def tearDownClass(cls):
        cls.model.close()
        cls.folder.cleanup()

    def chat(self, **options):
        return mx.Chat(self.model, [("user", "Why?")], threads=1, **{"temperature": 0, **options})
