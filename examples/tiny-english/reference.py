#!/usr/bin/env python3
"""Computes expected.json from model.gguf: a float64 forward pass in plain numpy.

    python3 reference.py [MODEL [EXPECTED]]

Shares no code with train.py. Needs numpy and gguf. Every step runs the whole
sequence again: slow, but nothing to get wrong in a key/value cache.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

import gguf
import numpy as np

HERE = Path(__file__).resolve().parent
GREEDY_BYTES = 32
# Greedy bytes can be compared exactly only where no step is close to a tie.
SMALLEST_MARGIN = 0.02

PROMPTS = {
    "short": "My dear ",
    "medium": "Elizabeth walked to the window, and saw that her",
    "long": "There was no moon that night, and the ship lay quiet upon the water. "
            "The old sailor sat by the rail with his pipe, and told the boy of the "
            "whales he had seen in the southern seas, and of the storms which had "
            "broken the masts of greater ships than theirs. \"But I never was "
            "afraid,\" said he, \"until the day when the",
}


class Model:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.tensors = {
            t.name: gguf.quants.dequantize(t.data, t.tensor_type)
            .astype(np.float64).reshape([int(n) for n in reversed(t.shape)])
            for t in reader.tensors
        }

        def field(name):
            return reader.fields[f"llama.{name}"].contents()

        self.blocks = field("block_count")
        self.heads = field("attention.head_count")
        self.kv_heads = field("attention.head_count_kv")
        self.epsilon = field("attention.layer_norm_rms_epsilon")
        self.rope_base = field("rope.freq_base")
        self.rope_width = field("rope.dimension_count")
        self.context = field("context_length")

    def norm(self, x, name):
        mean_square = np.mean(x * x, axis=-1, keepdims=True)
        return x / np.sqrt(mean_square + self.epsilon) * self.tensors[f"{name}.weight"]

    def linear(self, x, name):
        return x @ self.tensors[f"{name}.weight"].T

    def rope(self, x):
        """x is [position, head, width]; the pair (2i, 2i+1) as a complex number
        is turned by position * base^(-2i / width)."""
        n = self.rope_width
        frequency = self.rope_base ** (-np.arange(0, n, 2) / n)
        angle = np.arange(x.shape[0])[:, None] * frequency
        turned = (x[..., 0:n:2] + 1j * x[..., 1:n:2]) * np.exp(1j * angle)[:, None, :]
        y = x.copy()
        y[..., 0:n:2], y[..., 1:n:2] = turned.real, turned.imag
        return y

    def attention(self, x, block):
        length = x.shape[0]
        q = self.rope(self.linear(x, f"{block}.attn_q").reshape(length, self.heads, -1))
        k = self.rope(self.linear(x, f"{block}.attn_k").reshape(length, self.kv_heads, -1))
        v = self.linear(x, f"{block}.attn_v").reshape(length, self.kv_heads, -1)
        future = np.triu(np.ones((length, length), dtype=bool), 1)
        out = np.empty_like(q)
        for head in range(self.heads):
            shared = head * self.kv_heads // self.heads
            scores = q[:, head] @ k[:, shared].T / np.sqrt(q.shape[-1])
            scores[future] = -np.inf
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            out[:, head] = weights @ v[:, shared]
        return self.linear(out.reshape(length, -1), f"{block}.attn_output")

    def feed_forward(self, x, block):
        gate = self.linear(x, f"{block}.ffn_gate")
        up = self.linear(x, f"{block}.ffn_up")
        return self.linear(gate / (1 + np.exp(-gate)) * up, f"{block}.ffn_down")

    def logits(self, tokens):
        """The logits of every position: [position, vocabulary]."""
        if len(tokens) > self.context:
            raise ValueError(f"{len(tokens)} tokens in a context of {self.context}")
        x = self.tensors["token_embd.weight"][tokens]
        for block in (f"blk.{i}" for i in range(self.blocks)):
            x = x + self.attention(self.norm(x, f"{block}.attn_norm"), block)
            x = x + self.feed_forward(self.norm(x, f"{block}.ffn_norm"), block)
        return self.linear(self.norm(x, "output_norm"), "output")


def seven_digits(values):
    return [float(f"{v:.7g}") for v in values]


def expect(model, name, prompt):
    tokens = list(prompt.encode())
    first = model.logits(tokens)[-1]
    sequence, margins, last = list(tokens), [], first
    for step in range(GREEDY_BYTES):
        if step:
            last = model.logits(sequence)[-1]
        second, best = np.sort(last)[-2:]
        margins.append(best - second)
        sequence.append(int(last.argmax()))
    if min(margins) <= SMALLEST_MARGIN:
        raise ValueError(f"prompt {name!r}: a greedy margin of only {min(margins):.4f}")
    continuation = sequence[len(tokens):]
    return {
        "name": name,
        "prompt": prompt,
        "tokens": tokens,
        "logits": seven_digits(first),
        "greedy_tokens": continuation,
        "greedy_text": bytes(continuation).decode("utf-8", "replace"),
        "greedy_margins": seven_digits(margins),
    }


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "model.gguf"
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "expected.json"
    model = Model(path)
    cases = []
    for name, prompt in PROMPTS.items():
        case = expect(model, name, prompt)
        print(f"{name}: {len(case['tokens'])} bytes, smallest margin "
              f"{min(case['greedy_margins'])}, continues {case['greedy_text']!r}")
        cases.append(case)
    expected = {"model": path.name,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "cases": cases}
    lines = json.dumps(expected, indent=1)
    # A list of numbers goes on one line.
    lines = re.sub(r"\[\s+([-\d][^\]]*?)\s+\]",
                   lambda m: "[" + " ".join(m.group(1).split()) + "]", lines)
    target.write_text(lines + "\n")


if __name__ == "__main__":
    main()
