"""Tokenizers and chat templates."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

import numpy as np

from support import GOLDEN, BINDING, WithChat, TEMPLATE, mx


class Text(WithChat):
    def test_ids_come_back_as_the_text_they_were(self):
        tokenizer = self.model.tokenizer
        ids = tokenizer.encode("Why is the sky blue?\n")
        self.assertTrue(all(isinstance(one, int) for one in ids))
        self.assertEqual(tokenizer.decode(ids), "Why is the sky blue?\n")
        self.assertEqual(tokenizer.decode(np.array(ids, "i4")), "Why is the sky blue?\n")
        self.assertEqual(len(tokenizer), 160)
        self.assertEqual(tokenizer.encode("<|im_end|>"), [4])
        self.assertNotIn(4, tokenizer.encode("<|im_end|>", added_tokens=mx.AddedTokens.NONE))
        self.assertEqual(tokenizer.encode_spans([("<|im_end|>", True), (b"<|im_end|>", False)])[0], 4)
        self.assertNotIn(4, tokenizer.encode_spans([("<|im_end|>", False)]))
        self.assertEqual(tokenizer.token_bytes(tokenizer.find("A")), b"A")
        self.assertEqual(tokenizer.find("no such"), mx.NO_TOKEN)
        self.assertIn(mx.TokenIs.END, tokenizer.flags(4))
        self.assertEqual(tokenizer.special_tokens.bos, 1)
        with self.assertRaises(IndexError):
            tokenizer.decode([160])

    def test_a_published_vocabulary_gives_the_golden_ids(self):
        cases = 0
        for folder in sorted((GOLDEN / "tokenizers").iterdir()):
            path = next((folder / name for name in ("tokenizer.json", "tokenizer.model") if (folder / name).exists()), None)
            if path is not None:
                # SentencePiece reads no token out of a text, the tokenizers library does.
                added = mx.AddedTokens.ALL if path.suffix == ".json" else mx.AddedTokens.NONE
                with mx.Tokenizer(path) as tokenizer:
                    for case in json.loads((folder / "cases.json").read_text())["cases"]:
                        self.assertEqual(tokenizer.encode(case["text"], added, mx.AddBos.NO), case["ids"])
                        self.assertEqual(tokenizer.decode(case["ids"]), case["decoded"])
                        cases += 1
        self.assertGreater(cases, 500)

    def test_a_stream_decoder_gives_whole_characters_only(self):
        tokenizer = mx.Tokenizer(GOLDEN / "tokenizers/bpe-qwen2")
        ids = tokenizer.encode("naïve 你好 🙂")
        decoder = tokenizer.stream_decoder()
        tokenizer.close()
        pieces = [decoder.push(one) for one in ids] + [decoder.finish()]
        self.assertEqual("".join(pieces), "naïve 你好 🙂")
        self.assertNotIn("\ufffd", "".join(pieces))

    def test_a_template_renders_in_spans_that_say_whose_text_they_are(self):
        with mx.ChatTemplate(TEMPLATE) as template:
            prompt = template.render([{"role": "user", "content": "<|im_end|>"}, ("assistant", "so")], add_generation_prompt=True)
        self.assertEqual(prompt.text, "<|im_start|>user\n<|im_end|><|im_end|>\n<|im_start|>assistant\nso<|im_end|>\n<|im_start|>assistant\n")
        self.assertIn((b"<|im_end|>", False), prompt.spans)
        self.assertEqual(self.model.chat_template.render([("user", "a")]).text, "<|im_start|>user\na<|im_end|>\n")
        with mx.ChatTemplate("{{ bos }}{{ word }}{{ n + 1 }}") as template:
            self.assertEqual(template.render([], trusted={"bos": "<bos>"}, word="é", n=1).spans[0], (b"<bos>", True))
            self.assertEqual(template.render([], trusted={"bos": "<bos>"}, word="é", n=1).text, "<bos>é2")
        with self.assertRaises(ValueError) as caught:
            mx.ChatTemplate("{% if %}")
        self.assertEqual(caught.exception.name, "INVALID_ARGUMENT")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "chat.jinja"
            path.write_text("{{ messages[0].content }}")
            self.assertEqual(mx.ChatTemplate.open(path).render([("user", "hello")]).text, "hello")

    def test_texts_chats_and_streams_work_without_numpy(self):
        script = """
            import sys
            class Blocked:
                def find_spec(self, name, path=None, target=None):
                    if name.partition(".")[0] == "numpy":
                        raise ImportError("numpy is not here")
            sys.meta_path.insert(0, Blocked())
            import mixtura as mx
            with mx.Model(sys.argv[1]) as model:
                assert model.tokenizer.decode(model.tokenizer.encode("a b")) == "a b"
                chat = mx.Chat(model, [("user", "Why?")], temperature=0, tokens_max=5)
                text = "".join(chat.reply())
                assert chat.messages[-1] == ("assistant", text)
                assert len(mx.Generation(model).run(model.tokenizer.encode("a"), tokens_max=3).tokens) == 3
            assert "numpy" not in sys.modules
            print("done")
        """
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), self.folder.name], env={**os.environ, "PYTHONPATH": str(BINDING.parent)},
                              capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("done\n", ""))
