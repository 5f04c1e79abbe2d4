"""Models, generations, checkpoints and samplers against the golden references."""
import json
import unittest

import numpy as np

from support import MODELS, TOLERANCE, safetensors, difference, mx


class Numbers(unittest.TestCase):
    def test_logits_hidden_states_and_routes_are_the_references(self):
        for name, dense in (("qwen3-moe", 0), ("deepseek-v3", 1), ("mixtral", 0)):
            with self.subTest(name), mx.Model(MODELS / name, threads=2) as model:
                golden = safetensors(MODELS / name / "reference.safetensors")
                tokens = golden["input_ids"][0].astype("i4")
                generation = mx.Generation(model, cache_dtype="f32", threads=1, record_routes=True)
                logits, hidden, routes = {}, {}, {}
                generation.feed(tokens, on_logits=lambda p, row: logits.__setitem__(p, row.copy()),
                                on_hidden=lambda p, layer, rows: hidden.__setitem__(layer, rows.copy()),
                                on_route=lambda p, layer, view: routes.__setitem__(layer, (view.expert_ids.copy(), view.weights.copy(), view.load.sum())))
                self.assertLess(difference(np.stack([logits[p] for p in range(len(tokens))]), golden["logits"][0]), TOLERANCE)
                self.assertTrue((generation.logits == logits[len(tokens) - 1]).all())
                self.assertTrue((generation.tokens == tokens).all())
                for layer in range(model.facts.layer_count + 1):
                    self.assertLess(difference(hidden[layer], golden[f"hidden.{layer}"][0]), TOLERANCE)
                recorded = generation.last_routes()
                self.assertEqual(recorded.shape, (len(tokens), model.facts.layer_count, model.facts.experts_per_token))
                self.assertTrue((recorded[:, :dense] == -1).all())
                self.assertEqual(sorted(routes), list(range(dense, model.facts.layer_count)))
                for layer, (ids, weights, load) in routes.items():
                    expected = golden[f"router.model.layers.{layer}.mlp.gate.2"][:len(tokens)]
                    self.assertTrue((np.sort(ids, 1) == np.sort(expected, 1)).all())
                    self.assertTrue((recorded[:, layer] == ids).all())
                    order = np.take_along_axis(golden[f"router.model.layers.{layer}.mlp.gate.1"][:len(tokens)], np.argsort(expected, 1), 1)
                    self.assertLess(difference(np.take_along_axis(weights, np.argsort(ids, 1), 1), order), TOLERANCE)
                    self.assertEqual(load, ids.size)
                # The same bits in pieces, and after a step back.
                whole = generation.logits.copy()
                generation.truncate(10)
                generation.feed(list(tokens[10:15]))
                generation.feed(tokens[15:])
                self.assertTrue((generation.logits == whole).all())
                answer = generation.run(tokens, sampling=mx.Sampling(temperature=0, logprobs=2), stop_tokens=(), tokens_max=16)
                self.assertEqual(answer.tokens, json.loads((MODELS / name / "reference.json").read_text())["greedy_row0"])
                self.assertEqual(answer.prompt_tokens, len(tokens))
                self.assertEqual(generation.expert_load(dense).sum(), 15 * model.facts.experts_per_token)
                self.assertEqual(generation.expert_load(0).size, 0 if dense else model.facts.expert_count)
                pieces = list(generation.stream(tokens, sampling=mx.Sampling(temperature=0, logprobs=2), stop_tokens=(), tokens_max=3))
                self.assertEqual([piece.token for piece in pieces], answer.tokens[:3])
                row = golden["logits"][0][-1].astype("f8")
                self.assertAlmostEqual(pieces[0].logprob, row.max() - np.log(np.exp(row).sum()), 4)
                self.assertEqual(len(pieces[0].likeliest), 2)
                self.assertEqual(generation.run(tokens, sampling=mx.Sampling(temperature=0), stop_tokens=answer.tokens[1:2]).finish, mx.Finish.STOP_TOKEN)

    def test_exceptions_in_callbacks_of_feed_come_out_and_leave_the_sequence_as_it_was(self):
        with mx.Model(MODELS / "qwen3-moe") as model, mx.Generation(model, threads=1, step_tokens=4) as generation:
            generation.feed([1, 2, 3])
            seen = []
            def fail(position, *_):
                seen.append(position)
                raise KeyError(position)
            for callback in ("on_logits", "on_hidden", "on_route"):
                for tokens in ([4], list(range(4, 20))):
                    with self.assertRaises(KeyError):
                        generation.feed(tokens, **{callback: fail})
                    self.assertEqual(generation.tokens.tolist(), [1, 2, 3])
            self.assertEqual(len(seen), 6)  # never called again after the first
            def use(*_):
                generation.tokens
            with self.assertRaises(mx.BadState):
                generation.feed([4], on_route=use)
            with self.assertRaises(KeyError):
                list(generation.stream([1, 2, 3, 4], on_route=fail))

    def test_errors_say_what_and_belong_to_pythons_classes(self):
        with self.assertRaises(mx.NotFound) as caught:
            mx.Model(MODELS / "no-such")
        self.assertEqual((caught.exception.code, caught.exception.name), (-21, "NOT_FOUND"))
        self.assertIn("no-such", str(caught.exception))
        with mx.Model(MODELS / "qwen3-moe") as model:
            with self.assertRaises(mx.Error):
                model.tokenizer
            with self.assertRaises(LookupError):
                mx.Chat(model)
            generation = mx.Generation(model)
            self.assertEqual(generation.logits.size, 0)
            for call, error in ((lambda: generation.feed([160]), ValueError), (lambda: generation.feed(["a"]), TypeError), (lambda: generation.truncate(1), IndexError),
                                (lambda: generation.run([]), ValueError), (lambda: mx.Generation(model, cache_dtype="q4_k"), ValueError),
                                (lambda: mx.Generation(model, cache_dtype="no"), ValueError), (lambda: model.text(99), ValueError),
                                (lambda: generation.feed(np.zeros((2, 2), "i4")), ValueError)):
                with self.assertRaises(error):
                    call()
            self.assertIsNone(model.router(99))
            self.assertEqual(model.text(mx.About.ARCHITECTURE), "qwen3_moe")
        self.assertTrue(issubclass(mx._ERRORS[mx.Code.OUT_OF_HOST_MEMORY], MemoryError))
        self.assertEqual(mx.Error("x", -9999).name, "UNKNOWN")
        calls = []
        with self.assertRaises(mx.Cancelled):
            mx.Model(MODELS / "qwen3-moe", on_progress=lambda done, total: calls.append((done, total)) or True)
        self.assertEqual(len(calls), 1)
        with self.assertRaises(ZeroDivisionError):
            mx.Model(MODELS / "qwen3-moe", on_progress=lambda done, total: 1 / 0)

    def test_a_batch_gives_the_rows_of_its_sequences(self):
        with mx.Model(MODELS / "qwen3-moe") as model, mx.Batch(model, 2, threads=1, cache_dtype="f32") as batch:
            golden = safetensors(MODELS / "qwen3-moe/reference.safetensors")
            out = np.empty((2, 160), "f4")
            for position in range(5):
                self.assertIs(batch.step(golden["input_ids"][:, position].astype("i4"), out), out)
                self.assertLess(difference(out, golden["logits"][:, position]), 5 * TOLERANCE)
            batch.reset()
            with self.assertRaises(ValueError):
                batch.step([1, 2], np.empty((2, 159), "f4"))

    def test_a_checkpoint_reads_as_its_file_is(self):
        golden = safetensors(MODELS / "qwen3-moe/model.safetensors")
        with mx.Checkpoint(MODELS / "qwen3-moe") as checkpoint:
            self.assertEqual({one.name for one in checkpoint}, set(golden))
            info = checkpoint["lm_head.weight"]
            self.assertEqual((info.dtype, info.shape, info.size_bytes), ("bf16", (160, 64), 160 * 64 * 2))
            self.assertTrue((checkpoint.read("lm_head.weight") == golden["lm_head.weight"]).all())
            self.assertEqual(checkpoint.facts.parameter_count, sum(one.size for one in golden.values()))
            self.assertIn("safetensors", checkpoint.text(mx.About.FORMAT))
            for which, error in (("no such", LookupError), (10**6, IndexError)):
                with self.assertRaises(error):
                    checkpoint[which]
        forecast = mx.forecast(MODELS / "qwen3-moe", 128)
        self.assertEqual(forecast.context_tokens, 128)
        with mx.Model(MODELS / "qwen3-moe") as model:
            self.assertEqual(forecast.weight_bytes, model.facts.weight_bytes)
            for choice in mx.CACHE_DTYPES:
                with mx.Generation(model, context_tokens=256, threads=1, cache_dtype=choice) as generation:
                    generation.run([3] * 256)
                    self.assertEqual(generation.memory.cache_bytes, mx.forecast(MODELS / "qwen3-moe", 256, choice).cache_bytes)
            with self.assertRaisesRegex(ValueError, "cache_dtype is 'f8\\+f16', expected f32, f16, bf16, f8, q8, f16\\+f8"):
                mx.Generation(model, cache_dtype="f8+f16")

    def test_a_sampler_draws_from_the_distribution_it_names(self):
        rng = np.random.default_rng(1)
        logits = rng.normal(size=50).astype("f4")
        with mx.Sampler(50, temperature=0.5, top_k=5, seed=7, logprobs=3) as sampler:
            scaled = logits.astype("f8") / 0.5
            kept = np.argsort(-scaled)[:5]
            expected = np.zeros(50)
            expected[kept] = np.exp(scaled[kept] - scaled.max())
            expected /= expected.sum()
            self.assertLess(difference(sampler.probabilities(logits, [1, 2]), expected), 1e-5)
            drawn = sampler.sample(logits, [1, 2])
            self.assertIn(drawn.token, kept)
            self.assertAlmostEqual(drawn.probability, expected[drawn.token], 5)
            self.assertEqual([token for token, _ in drawn.likeliest], list(kept[:3]))
            self.assertEqual(sampler.sample(logits, [1, 2]), drawn)
            with self.assertRaises(ValueError):
                sampler.sample(logits[:49])
        with mx.Sampler(50, temperature=0, logit_bias={3: 100.0}) as sampler:
            self.assertEqual(sampler.sample(logits).token, 3)
        def edit(row, tokens, prompt_count):
            self.assertEqual((tokens.tolist(), prompt_count), ([1, 2, 3], 2))
            row[9] = 1000
        with mx.Sampler(50, temperature=0, edit_logits=edit) as sampler:
            self.assertEqual(sampler.sample(logits, [1, 2, 3], prompt_count=2).token, 9)
        with self.assertRaises(ZeroDivisionError):
            mx.Sampler(50, edit_logits=lambda *_: 1 / 0).sample(logits)
        with self.assertRaises(TypeError):
            mx.Sampler(50, temprature=1)
