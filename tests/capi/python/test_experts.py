"""Routers, experts and caches against numpy in float64."""
import dataclasses
import gc
import unittest
import weakref

import numpy as np

from support import MODELS, TOLERANCE, safetensors, floats, difference, softmax, mx


class Experts(unittest.TestCase):
    T, H, E, F, K = 37, 64, 8, 96, 3

    def setUp(self):
        rng = np.random.default_rng(5)
        self.hidden = rng.normal(size=(self.T, self.H)).astype("f4")
        self.gate = rng.normal(size=(self.E, self.H), scale=self.H ** -0.5).astype("f4")
        self.weights = [rng.normal(size=(self.E, *shape), scale=0.1).astype("f4") for shape in ((self.F, self.H), (self.F, self.H), (self.H, self.F))]

    def reference(self, ids, shares, weights):
        gate, up, down = (one.astype("f8") for one in weights)
        out = np.zeros((self.T, self.H))
        for t in range(self.T):
            x = self.hidden[t].astype("f8")
            for e, share in zip(ids[t], shares[t]):
                if e >= 0:
                    a = gate[e] @ x
                    out[t] += share * (down[e] @ (a / (1 + np.exp(-a)) * (up[e] @ x)))
        return out

    def route(self, **policy):
        with mx.Router(self.gate, policy=mx.RouterPolicy(top_k=self.K, **policy)) as router:
            return router.route(self.hidden)

    def test_a_router_gives_numpys_choices_and_weights(self):
        exact = self.hidden.astype("f8") @ self.gate.astype("f8").T
        scores = softmax(exact)
        expected = np.argsort(-scores, 1, kind="stable")[:, :self.K]
        shares = np.take_along_axis(scores, expected, 1)
        router = mx.Router(self.gate, policy=mx.RouterPolicy(top_k=self.K, renormalise=True, routed_scale=2.0))
        self.assertEqual((router.expert_count, router.hidden_size, router.policy.top_k, router.policy.renormalise), (self.E, self.H, self.K, True))
        plan = router.route(self.hidden)
        self.assertTrue((plan.expert_ids == expected).all())
        self.assertLess(difference(plan.weights, 2 * shares / shares.sum(1, keepdims=True)), 1e-5)
        self.assertLess(difference(router.logits(self.hidden), exact), 1e-5)
        self.assertTrue((plan.load == np.bincount(expected.ravel(), minlength=self.E)).all())
        self.assertEqual(plan.offsets[-1], plan.slot_count)
        self.assertTrue((plan.experts_of_token == self.K).all())
        slots = plan.slot_of_token_choice
        self.assertTrue((plan.token_of_slot[slots] == np.arange(self.T)[:, None]).all())
        self.assertIs(plan.expert_ids.base.keeper if hasattr(plan.expert_ids.base, "keeper") else plan, plan)
        self.assertFalse(plan.expert_ids.flags.writeable)
        again = mx.route_logits(router.logits(self.hidden), router.policy)
        self.assertTrue((again.expert_ids == plan.expert_ids).all() and (again.weights == plan.weights).all())
        mask = np.ones(self.T, bool)
        mask[3] = False
        self.assertIs(router.route(self.hidden, mx.RouterPolicy(top_k=1, is_masked=[e == 2 for e in range(self.E)]), mask, plan), plan)
        self.assertEqual((plan.choice_count, plan.padding, plan.experts_of_token[3]), (1, 1, 0))
        self.assertNotIn(2, plan.expert_ids)
        copy = mx.RoutePlan().set(plan.expert_ids, plan.weights, self.E)
        self.assertTrue((copy.load == plan.load).all())
        dropping = router.route(self.hidden, mx.RouterPolicy(top_k=self.K, capacity_factor=0.5, overflow=mx.Overflow.DROP))
        self.assertGreater(dropping.dropped, 0)
        for call in (lambda: router.route(self.hidden[:, :9]), lambda: router.route(self.hidden, mx.RouterPolicy(top_k=99)), lambda: mx.Router(self.gate[0]),
                     lambda: mx.Router(self.gate, gate_bias=np.zeros(3, "f4")), lambda: router.route(self.hidden, padding_mask=[1]), lambda: copy.set(plan.expert_ids, plan.weights[:1], 8)):
            with self.assertRaises(ValueError):
                call()
        masked = mx.Router(self.gate, policy=mx.RouterPolicy(is_masked=[True] + [False] * 7))
        self.assertEqual(masked.policy.is_masked, [True] + [False] * 7)

    def test_two_layers_biases_and_bf16_gates_count(self):
        rng = np.random.default_rng(6)
        inner, outer = rng.normal(size=(24, self.H)).astype("f4") / 8, rng.normal(size=(self.E, 24)).astype("f4")
        bias = rng.normal(size=self.E).astype("f4")
        with mx.Router(outer, inner_gate=inner, gate_bias=bias) as router:
            expected = np.maximum(self.hidden.astype("f8") @ inner.T, 0) @ outer.T + bias
            self.assertLess(difference(router.logits(self.hidden), expected), 1e-5)
        half = (self.gate.view("u4") >> 16).astype("u2")
        with mx.Router(mx.Tensor(half, "bf16")) as router:
            self.assertLess(difference(router.logits(self.hidden), self.hidden.astype("f8") @ floats(half).T), 1e-5)
        with mx.Router(self.gate.astype("f2"), selection_bias=[np.float32(100.0)] + [np.float32(0.0)] * 7) as router:
            self.assertTrue((router.route(self.hidden).expert_ids == 0).all())
        with mx.Router(np.broadcast_to(np.float32(0.5), (self.E, self.H))) as router:  # strides of 0
            self.assertLess(difference(router.logits(self.hidden), np.repeat(self.hidden.sum(1, dtype="f8")[:, None] / 2, self.E, 1)), 1e-4)
        with self.assertRaises(ValueError):
            mx.Router(self.gate.astype(">f4"))
        with self.assertRaises(ValueError):
            mx.Router(mx.Tensor(self.gate, "bf16"))

    def test_experts_give_numpys_sums_however_their_weights_lie(self):
        plan = self.route(renormalise=True)
        expected = self.reference(plan.expert_ids, plan.weights, self.weights)
        with mx.ExpertPool(*self.weights, threads=2) as pool:
            result = pool.run(self.hidden, plan)
            self.assertLess(difference(result, expected), TOLERANCE)
            self.assertEqual((pool.stats.tokens, pool.stats.choices), (self.T, self.T * self.K))
            out = np.empty_like(self.hidden)
            self.assertIs(pool.run(self.hidden, plan, out), out)
            self.assertTrue((out == result).all())
            for call in (lambda: pool.run(self.hidden[:5], plan), lambda: pool.run(self.hidden[:, :5], plan), lambda: pool.run(self.hidden, plan, self.hidden),
                         lambda: pool.run(self.hidden, plan, out[:, ::2])):
                with self.assertRaises(ValueError):
                    call()
        turned = [np.ascontiguousarray(one.transpose(0, 2, 1)).transpose(0, 2, 1) for one in self.weights]
        backwards = [np.ascontiguousarray(one[::-1, ::-1])[::-1, ::-1] for one in self.weights]
        lists = [[np.asfortranarray(one) for one in role] for role in self.weights]
        for weights in (turned, backwards, lists):
            with mx.ExpertPool(*weights, threads=1) as pool:
                self.assertTrue((pool.run(self.hidden, plan) == result).all())
        biased = [np.ones((self.E, self.F), "f4"), np.ones((self.E, self.F), "f4"), np.ones((self.E, self.H), "f4")]
        with mx.ExpertPool(*self.weights, gate_bias=biased[0], up_bias=biased[1], down_bias=biased[2], threads=1) as pool:
            self.assertFalse((pool.run(self.hidden, plan) == result).all())
        with mx.ExpertPool(None, *self.weights[1:], activation=mx.Activation.RELU, threads=1) as pool:
            self.assertTrue(np.isfinite(pool.run(self.hidden, plan)).all())
        shared = [one[0] for one in self.weights]
        with mx.ExpertPool(*self.weights, shared_gate=shared[0], shared_up=shared[1], shared_down=shared[2], threads=1) as pool:
            everywhere = self.reference(np.zeros((self.T, 1), int), np.ones((self.T, 1)), self.weights)
            self.assertLess(difference(pool.run(self.hidden, plan), expected + everywhere), TOLERANCE)
        for call in (lambda: mx.ExpertPool(self.weights[0], self.weights[1], self.weights[0]), lambda: mx.ExpertPool(list(self.weights[0]), self.weights[1], self.weights[2]),
                     lambda: mx.ExpertPool(self.weights[0], mx.Tensor(np.zeros(9, "u1"), "q4_k", (self.E, self.F, 256)), self.weights[2])):
            with self.assertRaises(ValueError):
                call()

    def test_block_formats_and_bf16_go_in_as_they_are(self):
        plan = self.route()
        half = [(one.view("u4") >> 16).astype("u2") for one in self.weights]
        with mx.ExpertPool(*(mx.Tensor(one, "bf16") for one in half), threads=1) as pool:
            self.assertLess(difference(pool.run(self.hidden, plan), self.reference(plan.expert_ids, plan.weights, [floats(one) for one in half])), TOLERANCE)
        def q8_0(array):  # 32 values: an f16 scale, 32 bytes
            blocks = array.reshape(-1, 32)
            scale = (np.abs(blocks).max(1, keepdims=True) / 127).astype("f2")
            bytes_ = np.rint(blocks / scale.astype("f4")).clip(-127, 127).astype("i1")
            packed = np.concatenate([scale.view("u1").reshape(-1, 2), bytes_.view("u1")], 1)
            return mx.Tensor(packed, "q8_0", array.shape), (bytes_ * scale.astype("f8")).reshape(array.shape)
        packed = [q8_0(one) for one in self.weights]
        with mx.ExpertPool(*(one for one, _ in packed), threads=1) as pool:
            # Activations go to 8 bits beside such weights: 1.02e-2 measured.
            self.assertLess(difference(pool.run(self.hidden, plan), self.reference(plan.expert_ids, plan.weights, [one for _, one in packed])), 2e-2)

    def test_a_layer_of_a_model_lends_its_router_and_its_experts(self):
        with mx.Model(MODELS / "deepseek-v3") as model:
            self.assertIsNone(model.router(0))
            self.assertIsNone(model.experts(0))
            golden = safetensors(MODELS / "deepseek-v3/reference.safetensors")
            router, pool = model.router(1), model.experts(1)
            self.assertEqual((router.expert_count, router.policy.group_count, router.policy.scoring), (16, 4, mx.Scoring.SIGMOID))
            plan = router.route(golden["hidden.1"][0])
            self.assertEqual(pool.run(golden["hidden.1"][0], plan).shape, (24, 64))
            self.assertEqual(pool.stats.tokens, 24)
            router.close()
            with self.assertRaises(mx.BadState):
                router.policy
            self.assertEqual(model.router(1).expert_count, 16)  # only the borrower ended

    def test_a_host_may_change_the_routers_of_a_generation(self):
        with mx.Model(MODELS / "qwen3-moe") as model:
            asked = []

            def change(layer, expert_count, policy):
                asked.append((layer, expert_count, policy.top_k))
                if layer < 2:
                    return dataclasses.replace(policy, top_k=1, is_masked=[expert == 3 for expert in range(expert_count)])

            routes = {}
            with mx.Generation(model, context_tokens=64, change_router=change) as generation:
                generation.feed([1, 2, 3, 4], on_route=lambda _, layer, view: routes.update({layer: view.expert_ids.copy()}))
            self.assertEqual(asked, [(0, 16, 4), (1, 16, 4), (2, 16, 4)])
            self.assertEqual([routes[layer].shape[1] for layer in range(3)], [1, 1, 4])
            self.assertNotIn(3, routes[0])
            with mx.Batch(model, 2, context_tokens=64, change_router=change) as batch:
                batch.step([1, 2])
            with self.assertRaisesRegex(mx.InvalidArgument, "layer 0.*top_k is 17"):
                mx.Generation(model, change_router=lambda _, __, policy: dataclasses.replace(policy, top_k=17))
            with self.assertRaises(ZeroDivisionError):
                mx.Generation(model, change_router=lambda *_: 1 / 0)

    def test_weights_are_quantised_by_role_on_the_way_in(self):
        with mx.Model(MODELS / "qwen3-moe") as model, mx.Model(MODELS / "qwen3-moe", weights="experts=q4_0,experts.up=q8_0") as smaller:
            self.assertEqual(model.weight_errors, [])
            self.assertLess(smaller.facts.weight_bytes, model.facts.weight_bytes)
            told = mx.forecast(MODELS / "qwen3-moe", weights="experts=q4_0,experts.up=q8_0")
            self.assertEqual(told.weight_bytes, smaller.facts.weight_bytes)
            self.assertEqual(mx.forecast(MODELS / "qwen3-moe").weight_bytes, model.facts.weight_bytes)
            self.assertEqual(len(smaller.weight_errors), 3 * 16 * 3)
            first = smaller.weight_errors[0]
            self.assertEqual(first[:5], ("layers.0.experts.0.gate.weight", "experts.gate", "bf16", "q4_0", 64 * 32))
            self.assertTrue(0.05 < first.relative_error < 0.12, first)
        with self.assertRaisesRegex(mx.InvalidArgument, "router stay"):
            mx.Model(MODELS / "qwen3-moe", weights="router=q8_0")
        with self.assertRaisesRegex(mx.InvalidArgument, "router stay"):
            mx.forecast(MODELS / "qwen3-moe", weights="router=q8_0")

    def test_a_cache_keeps_rows_and_lends_its_blocks(self):
        rng = np.random.default_rng(7)
        planes = [mx.KVPlane(2, 16, "f32"), mx.KVPlane(2, 8, "f16")]
        cache = mx.KVCache([mx.KVLayer(planes), mx.KVLayer([mx.KVPlane(1, 4, "bf16")], group=1)], [mx.KVGroup(), mx.KVGroup(window_tokens=8)])
        sequence = cache.create_sequence()
        self.assertEqual(cache.append(sequence, 70), 0)
        keys, values = rng.normal(size=(70, 2, 16)).astype("f4"), rng.normal(size=(70, 2, 8)).astype("f4")
        cache.write(sequence, 0, 0, 0, keys)
        cache.write(sequence, 0, 1, 0, values.reshape(70, 16))
        cache.write(sequence, 1, 0, 0, np.ones((70, 4), "f4"))
        self.assertTrue((cache.read(sequence, 0, 0, 0, 70) == keys).all())
        view = cache.view(sequence, 0)
        self.assertEqual((view.length_tokens, len(view.blocks), len(view.blocks[0])), (70, 2, 3))
        for position in (0, 31, 32, 69):
            self.assertTrue((view.blocks[0][position // 32][position % 32] == keys[position]).all())
            self.assertTrue((view.blocks[1][position // 32][position % 32] == values[position].astype("f2")).all())
        self.assertEqual(cache.view(sequence, 1).blocks[0][0].dtype, np.dtype("u2"))
        self.assertTrue((floats(cache.view(sequence, 1).blocks[0][0].copy()) == 1).all())
        narrow = mx.KVCache([mx.KVLayer([mx.KVPlane(2, 40, "q8_0"), mx.KVPlane(2, 40, "f8_e4m3")])])
        other = narrow.create_sequence()
        narrow.append(other, 40)
        rows = rng.normal(size=(40, 2, 40)).astype("f4")
        for plane, row_bytes in ((0, 68), (1, 44)):
            narrow.write(other, 0, plane, 0, rows)
            self.assertLess(abs(narrow.read(other, 0, plane, 0, 40) - rows).max(), 0.25)
            self.assertEqual(narrow.view(other, 0).blocks[plane][0].shape, (32, 2, row_bytes))
        codes = narrow.view(other, 0).blocks[0][1][7, 1]  # position 39: two blocks of an f16 and 32 int8
        scales = codes.reshape(2, 34)[:, :2].copy().view("<f2").astype("f4")
        self.assertTrue(((codes.reshape(2, 34)[:, 2:].view("i1") * scales).ravel()[:40] == narrow.read(other, 0, 0, 39, 1)[0, 1]).all())
        fork = cache.fork(sequence)
        self.assertEqual(cache.memory.blocks_shared, cache.memory.blocks_used)
        self.assertEqual(cache.memory.sequences, 2)
        with self.assertRaises(mx.BadState):
            cache.write(fork, 0, 0, 0, keys[:1])  # shared
        stored = cache.export_sequence(sequence)
        third = cache.import_sequence(stored)
        self.assertTrue((cache.read(third, 0, 1, 3, 5) == values[3:8].astype("f2")).all())
        self.assertEqual(cache.first_visible(sequence, 1), 63)
        cache.release_before(sequence, 1, 63)
        self.assertIsNone(cache.view(sequence, 1).blocks[0][0])
        cache.truncate(fork, 5)
        self.assertEqual((cache.length(fork), cache.length(sequence)), (5, 70))
        cache.free_sequence(fork)
        cache.trim()
        for call, error in ((lambda: cache.length(fork), LookupError), (lambda: cache.truncate(third, 99), IndexError), (lambda: cache.read(third, 0, 2, 0, 1), IndexError),
                            (lambda: cache.read(third, 0, 0, 60, 20), IndexError), (lambda: cache.write(third, 0, 0, 0, keys[:, :1]), ValueError),
                            (lambda: cache.import_sequence(stored[:-1]), mx.Error), (lambda: mx.KVCache([]), ValueError)):
            with self.assertRaises(error):
                call()
        block = view.blocks[0][0]
        gone = weakref.ref(cache)
        del cache, call
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertTrue(np.isfinite(block).all())
