"""Chats and streams: how they go, how they are ended, and what ends them."""
import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np

from support import BINDING, WithChat, mx


class Chats(WithChat):
    def test_a_reply_streams_and_becomes_a_message(self):
        with self.chat(tokens_max=12) as chat:
            stream = chat.reply()
            text = "".join(stream)
            self.assertEqual(stream.answer.text, text)
            self.assertEqual(len(stream.answer.tokens), 12)
            self.assertEqual(stream.answer.finish, mx.Finish.MAX_TOKENS)
            self.assertEqual(chat.messages, [("user", "Why?"), ("assistant", text)])
            self.assertIn("<|im_start|>assistant\n" + text, chat.prompt)
            again = "".join(chat.regenerate())
            self.assertEqual(again, text)  # temperature 0
            chat.truncate(1)
            self.assertEqual(len(chat.messages), 1)
            chat.set_sampling(temperature=2.0, seed=3)
            self.assertNotEqual("".join(chat.reply()), text)
            self.assertGreater(chat.memory.cache_bytes, 0)
            self.assertEqual(chat.expert_load(0).shape, (16,))
            self.assertEqual(list(stream), [])  # an exhausted stream stays so
            with self.assertRaises(ValueError):
                chat.set_sampling(temperature=-1)

    def test_a_template_by_hand_and_variables_reach_the_prompt(self):
        template = mx.ChatTemplate("{{ mood }}:{% for m in messages %}[{{ m.content }}]{% endfor %}")
        with mx.Chat(self.model, [("user", "a")], template=template, variables={"mood": "calm"}, tokens_max=2, temperature=0) as chat:
            template.close()
            self.assertEqual(chat.prompt, "calm:[a]")
            self.assertTrue(list(chat.reply()))

    def test_the_value_of_yield_from_is_the_answer(self):
        def through(stream):
            answer = yield from stream
            yield answer.finish
        with self.chat(tokens_max=3) as chat:
            self.assertEqual(list(through(chat.reply()))[-1], mx.Finish.MAX_TOKENS)

    def test_model_chat_streams_and_tells_the_routes(self):
        messages = [{"role": "user", "content": "Why?"}]
        stream = self.model.chat(messages, temperature=0, tokens_max=6)
        text = "".join(stream)
        with self.chat(tokens_max=6) as chat:
            self.assertEqual("".join(chat.reply()), text)  # the same prompt, the same answer
        routes = self.model.last_routes()
        prompt = self.model.prompt(messages)
        self.assertEqual(routes.dtype, np.dtype("i4"))
        self.assertEqual(routes.shape, (len(prompt) + 5, 3, 4))  # the answer's last token was never computed
        self.assertTrue(((routes >= 0) & (routes < 16)).all())
        before = routes.copy()
        stream = self.model.chat(messages, temperature=0, tokens_max=6)
        self.assertEqual("".join(stream), text)
        self.assertGreater(stream.answer.reused_tokens, 0)  # and their routes are still known
        self.assertTrue((self.model.last_routes() == before).all())

    def test_closing_the_generator_early_ends_the_answer(self):
        with self.chat() as chat:
            stream = chat.reply()
            first = next(stream)
            stream.close()
            self.assertIsNone(stream.answer)
            self.assertEqual(list(stream), [])
            self.assertEqual(len(chat.messages), 2)
            self.assertTrue(chat.messages[1].content.startswith(first))
            chat.truncate(1)
            for _ in chat.reply():  # dropped by break
                break
            self.assertEqual(len(chat.messages), 2)
            chat.reply()  # one that never began
            self.assertEqual(len(chat.messages), 2)
            chat.truncate(1)
            stream = chat.reply()
            next(stream)
            with self.assertRaises(KeyError):
                stream.throw(KeyError("mine"))
            with self.assertRaises(RuntimeError):
                with chat.reply() as stream:
                    next(stream)
                    raise RuntimeError
        self.assertEqual([one for one in threading.enumerate() if one.name == "mixtura"], [])

    def test_a_second_call_during_an_answer_is_refused(self):
        with self.chat() as chat:
            stream = chat.reply()
            next(stream)
            for call in (lambda: chat.messages, lambda: chat.add("user", "x"), lambda: next(chat.reply())):
                with self.assertRaises(mx.BadState):
                    call()
            stream.close()
            chat.add("user", "x")

    def test_another_thread_may_cancel(self):
        with self.chat(logit_bias={4: float("-inf"), 2: float("-inf")}, context_tokens=200) as chat:
            stream = chat.reply()
            pieces = [next(stream)]
            other = threading.Thread(target=chat.cancel)
            other.start()
            other.join()
            pieces += stream
            self.assertEqual(stream.answer.finish, mx.Finish.CANCELLED)
            self.assertEqual(chat.messages[-1].content, "".join(pieces))

    def test_ending_the_chat_ends_its_answer(self):
        chat = self.chat()
        stream = chat.reply()
        next(stream)
        chat.close()
        chat.close()
        with self.assertRaises(mx.BadState):
            chat.messages
        self.assertLess(len(list(stream)), 40)  # what was computed ahead, then the end

    def test_an_exception_in_a_callback_comes_out_of_the_stream(self):
        def edit(logits, tokens, prompt_count):
            if len(tokens) > prompt_count + 2:
                raise KeyError("mine")
            logits[:] = -1
            logits[40 + len(tokens) - prompt_count] = 1
        with self.chat(edit_logits=edit) as chat:
            got = []
            with self.assertRaises(KeyError):
                for piece in chat.reply():
                    got.append(piece)
            self.assertEqual("".join(got), self.model.tokenizer.decode([40, 41, 42]))
            self.assertEqual(len(chat.messages), 1)
        with self.chat(edit_logits=lambda *_: True) as chat, self.assertRaises(mx.Error) as caught:
            list(chat.reply())
        self.assertEqual(caught.exception.code, mx.Code.CALLBACK_STOPPED)

    def test_control_c_ends_an_answer(self):
        script = """
            import os, signal, sys, threading, time
            import mixtura as mx
            model = mx.Model(sys.argv[1])
            chat = mx.Chat(model, [("user", "Why?")], temperature=1, edit_logits=lambda *_: time.sleep(0.2))
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                for piece in chat.reply():
                    pass
            except KeyboardInterrupt:
                print("interrupted", [t.name for t in threading.enumerate() if t.name == "mixtura"], len(chat.messages))
        """
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), self.folder.name], env={**os.environ, "PYTHONPATH": str(BINDING.parent)},
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.stdout, done.stderr), ("interrupted [] 2\n", ""))

    def test_a_program_may_end_in_the_middle_of_an_answer(self):
        script = """
            import logging, sys
            import mixtura as mx
            logging.basicConfig(level=1, stream=open("/dev/null", "w"))
            mx.log_to(logging.getLogger("mixtura"), mx.Log.TRACE)
            model = mx.Model(sys.argv[1])
            streams = [mx.Chat(model, [("user", "Why?")], temperature=1).reply() for _ in range(3)]
            for stream in streams:
                next(stream)
            stream = model.chat([("user", "Why?")])
            next(stream)
            print("leaving")
        """
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), self.folder.name], env={**os.environ, "PYTHONPATH": str(BINDING.parent)},
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "leaving\n", ""))

    def test_the_order_of_ends_does_not_matter(self):
        model = mx.Model(self.folder.name)
        tokenizer, chat, generation = model.tokenizer, mx.Chat(model, [("user", "a")], tokens_max=2), mx.Generation(model)
        router = model.router(0)
        model.close()
        self.assertTrue(list(chat.reply()))
        generation.feed([1])
        for call in (lambda: router.policy, lambda: tokenizer.encode("a"), lambda: model.facts, lambda: model.last_routes(), lambda: mx.Generation(model)):
            with self.assertRaises(mx.BadState):
                call()
        logits = generation.logits
        gone = weakref.ref(generation)
        del generation
        gc.collect()
        self.assertIsNotNone(gone())  # the view holds it
        self.assertTrue(np.isfinite(logits).all())
        del logits
        gc.collect()
        self.assertIsNone(gone())
        stream = mx.Chat(mx.Model(self.folder.name), [("user", "a")], tokens_max=2).reply()  # everything else is garbage
        gc.collect()
        self.assertTrue(list(stream))
