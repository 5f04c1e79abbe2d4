#!/usr/bin/env python3
"""Chats with a model: chat.py MODEL.  Ctrl-C ends an answer, Ctrl-D the chat."""
import sys

import mixtura

with mixtura.Model(sys.argv[1]) as model, mixtura.Chat(model) as chat:
    while print("\n> ", end="", flush=True) or (line := sys.stdin.readline()):
        chat.add("user", line.strip())
        try:
            for piece in chat.reply():
                print(piece, end="", flush=True)
        except KeyboardInterrupt:
            pass
