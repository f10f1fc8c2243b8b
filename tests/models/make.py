#!/usr/bin/env python3
"""Writes tiny/NAME.gguf, a model of random weights for each architecture, and tiny/NAME.json, what it must give.

    python3 make.py [NAME...]

The expected values are those of a float64 forward pass in numpy over the weights as the file has them. It shares nothing
with Caldera: every sequence is computed whole, without caches. Needs numpy and gguf. The same bytes come out each time.
"""

import json
import sys
import zlib
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T

HERE = Path(__file__).resolve().parent / "tiny"
VOCABULARY = 96
WIDTH = 64
# Where the f16 scale of a block lies, and that of its minimum with the middle of its codes.
SCALES = {
    T.Q2_K: (80, 82, 1.5), T.Q3_K: (108, None, 0), T.Q4_K: (0, 2, 7.5), T.Q5_K: (0, 2, 15.5), T.Q6_K: (208, None, 0),
    T.IQ4_NL: (0, None, 0), T.IQ4_XS: (0, None, 0), T.IQ2_XXS: (0, None, 0), T.IQ2_XS: (0, None, 0), T.IQ2_S: (0, None, 0),
    T.IQ3_XXS: (0, None, 0), T.IQ3_S: (0, None, 0), T.IQ1_S: (0, None, 0), T.TQ1_0: (52, None, 0),
    T.TQ2_0: (64, None, 0),
}
QUANTIZED = {T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0}


def f16(values):
    return np.asarray(values, dtype=np.float16).view(np.uint8).reshape(-1, 2)


def packed(random, kind, shape, deviation):
    """Random weights of a type, as bytes [.., bytes of a row]."""
    if kind in QUANTIZED:
        return gguf.quants.quantize(random.normal(0, deviation, shape).astype(np.float32), kind)
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (int(np.prod(shape)) // elements, size), dtype=np.uint8)
    row = (*shape[:-1], shape[-1] // elements * size)
    if kind == T.MXFP4:
        blocks[:, 0] = random.integers(122, 125, len(blocks))
        return blocks.reshape(row)
    at, minimum, middle = SCALES[kind]

    def scaled(d):
        blocks[:, at:at + 2] = f16(np.full(len(blocks), d))
        if minimum is not None:
            blocks[:, minimum:minimum + 2] = f16(np.full(len(blocks), d * middle))
        return blocks

    unit = gguf.quants.dequantize(scaled(2.0 ** -6).reshape(-1, size), kind).std() * 2.0 ** 6
    return scaled(deviation / unit).reshape(row).copy()


class File:
    """A GGUF file in the making; what is put in comes back as the float64 values that a reader gets."""

    def __init__(self, name, architecture, types=(T.Q8_0,)):
        self.name, self.arch = name, architecture
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.writer = gguf.GGUFWriter(HERE / f"{name}.gguf", architecture)
        self.types, self.count, self.w = list(types), 0, {}

    def meta(self, **values):
        for key, value in values.items():
            key = f"{self.arch}.{key.replace('__', '.')}"
            if isinstance(value, bool):
                self.writer.add_bool(key, value)
            elif isinstance(value, int):
                self.writer.add_uint32(key, value)
            elif isinstance(value, float):
                self.writer.add_float32(key, value)
            elif isinstance(value, str):
                self.writer.add_string(key, value)
            else:
                self.writer.add_array(key, value)

    def plain(self, name, values):
        values = np.asarray(values, dtype=np.float32)
        self.writer.add_tensor(name, values)
        self.w[name] = values.astype(np.float64)
        return self.w[name]

    def vector(self, name, *shape, around=0.0, deviation=0.1):
        return self.plain(name, around + self.random.normal(0, deviation, shape))

    def norm(self, name, size):
        return self.vector(f"{name}.weight", size, around=1.0, deviation=0.2)

    def matrix(self, name, *shape, kind=None, gain=1.0):
        """Weights [.., rows, columns]: the next of the file's types that fits."""
        if kind is None:
            fits = [t for t in self.types if shape[-1] % gguf.GGML_QUANT_SIZES[t][0] == 0] or [T.Q8_0]
            kind = fits[self.count % len(fits)]
            self.count += 1
        deviation = gain / np.sqrt(shape[-1])
        if kind in (T.F32, T.F16, T.BF16):
            values = self.random.normal(0, deviation, shape).astype(np.float32)
            data = values if kind == T.F32 else values.astype(np.float16) if kind == T.F16 else gguf.quants.quantize(values, kind)
        else:
            data = packed(self.random, kind, shape, deviation)
        self.writer.add_tensor(f"{name}.weight", data, raw_dtype=kind)
        back = data.astype(np.float64) if kind in (T.F32, T.F16) else gguf.quants.dequantize(data, kind).astype(np.float64)
        self.w[f"{name}.weight"] = back.reshape(shape)
        return self.w[f"{name}.weight"]

    def write(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()

    # ---- what a forward pass is made of

    def linear(self, x, name):
        y = x @ self.w[f"{name}.weight"].T
        return y + self.w[f"{name}.bias"] if f"{name}.bias" in self.w else y

    def rms(self, x, name, eps=1e-5):
        return bare_rms(x, eps) * self.w[f"{name}.weight"]


def bare_rms(x, eps=1e-5):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)


def silu(x):
    return x / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def softplus(x):
    return np.log1p(np.exp(x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def frequencies(n, base, factors=None, linear=1.0, yarn=None):
    """Angles at position 1, and what cos and sin are multiplied by."""
    pairs = np.arange(n // 2)
    own = base ** (-2.0 * pairs / n) / (1.0 if factors is None else factors)
    if yarn is None:
        return own / linear, 1.0
    factor, context, whole = yarn

    def pair_of(turns):
        return n * np.log(context / (turns * 2 * np.pi)) / (2 * np.log(base))

    low, high = pair_of(32.0), pair_of(1.0)
    if whole:
        low, high = np.floor(low), np.ceil(high)
    low, high = max(low, 0), min(high, n - 1)
    slow = np.clip((pairs - low) / max(high - low, 0.001), 0, 1)
    return own / factor * slow + own * (1 - slow), 0.1 * np.log(factor) + 1


def rope(x, angles, style):
    """x is [position, head, size]."""
    frequency, magnitude = angles
    half = len(frequency)
    turn = np.exp(1j * np.arange(x.shape[0])[:, None] * frequency)[:, None, :] * magnitude
    y = x.copy()
    if style == "pairs":
        z = (x[..., 0:2 * half:2] + 1j * x[..., 1:2 * half:2]) * turn
        y[..., 0:2 * half:2], y[..., 1:2 * half:2] = z.real, z.imag
    else:
        z = (x[..., :half] + 1j * x[..., half:2 * half]) * turn
        y[..., :half], y[..., half:2 * half] = z.real, z.imag
    return y


def attend(q, k, v, causal=True, window=None, scale=None, cap=0.0, sinks=None):
    n, heads, size = q.shape
    distance = np.arange(n)[:, None] - np.arange(n)[None, :]
    hidden = (distance < 0) if causal else np.zeros((n, n), dtype=bool)
    if window:
        hidden |= distance >= window
    out = np.empty((n, heads, v.shape[-1]))
    for head in range(heads):
        shared = head * k.shape[1] // heads
        s = q[:, head] @ k[:, shared].T * (size ** -0.5 if scale is None else scale)
        s = cap * np.tanh(s / cap) if cap else s
        s[hidden] = -np.inf
        if sinks is not None:
            s = np.concatenate([s, np.full((n, 1), sinks[head])], axis=1)
        out[:, head] = softmax(s)[:, :n] @ v[:, shared]
    return out.reshape(n, -1)


class Heads:
    """The attention of one architecture: sizes, biases, norms, angles."""

    def __init__(self, f, heads=4, kv=2, size=16, style="halves", bias="", qk=None, fused=False, width=WIDTH, sinks=False):
        self.f, self.heads, self.kv, self.size, self.style, self.qk, self.fused = f, heads, kv, size, style, qk, fused
        self.bias, self.width, self.sinks = bias, width, sinks
        f.meta(attention__head_count=heads, attention__head_count_kv=kv)
        if size * heads != width:
            f.meta(attention__key_length=size, attention__value_length=size)

    def make(self, block):
        f, rows = self.f, {"q": self.heads * self.size, "k": self.kv * self.size, "v": self.kv * self.size}
        if self.fused:
            f.matrix(f"{block}.attn_qkv", sum(rows.values()), self.width)
        else:
            for part, n in rows.items():
                f.matrix(f"{block}.attn_{part}", n, self.width, gain=2.0)
                if part in self.bias:
                    f.vector(f"{block}.attn_{part}.bias", n, deviation=0.3)
        f.matrix(f"{block}.attn_output", self.width, self.heads * self.size)
        if "o" in self.bias:
            f.vector(f"{block}.attn_output.bias", self.width)
        if self.qk == "each":
            f.norm(f"{block}.attn_q_norm", self.size), f.norm(f"{block}.attn_k_norm", self.size)
        if self.qk == "all":
            f.norm(f"{block}.attn_q_norm", rows["q"]), f.norm(f"{block}.attn_k_norm", rows["k"])
        if self.sinks:
            f.vector(f"{block}.attn_sinks.weight", self.heads, deviation=1.0)

    def __call__(self, x, block, angles, causal=True, **how):
        f, n = self.f, len(x)
        if self.fused:
            q, k, v = np.split(f.linear(x, f"{block}.attn_qkv"), [self.heads * self.size, (self.heads + self.kv) * self.size], axis=1)
        else:
            q, k, v = (f.linear(x, f"{block}.attn_{part}") for part in "qkv")
        if self.qk == "all":
            q, k = f.rms(q, f"{block}.attn_q_norm"), f.rms(k, f"{block}.attn_k_norm")
        q, k, v = (y.reshape(n, -1, self.size) for y in (q, k, v))
        if self.qk == "each":
            q, k = f.rms(q, f"{block}.attn_q_norm"), f.rms(k, f"{block}.attn_k_norm")
        if angles is not None:
            q, k = rope(q, angles, self.style), rope(k, angles, self.style)
        if self.sinks:
            how["sinks"] = f.w[f"{block}.attn_sinks.weight"]
        return f.linear(attend(q, k, v, causal, **how), f"{block}.attn_output")


def make_gated(f, block, hidden=256, fused=False, width=WIDTH):
    if fused:
        f.matrix(f"{block}.ffn_up", 2 * hidden, width)
    else:
        f.matrix(f"{block}.ffn_gate", hidden, width), f.matrix(f"{block}.ffn_up", hidden, width)
    f.matrix(f"{block}.ffn_down", width, hidden)


def gated(f, x, block, act=silu, fused=False):
    if fused:
        gate, up = np.split(f.linear(x, f"{block}.ffn_up"), 2, axis=1)
    else:
        gate, up = f.linear(x, f"{block}.ffn_gate"), f.linear(x, f"{block}.ffn_up")
    return f.linear(act(gate) * up, f"{block}.ffn_down")


def make_experts(f, block, experts=6, hidden=32, bias=False, kind=None):
    f.matrix(f"{block}.ffn_gate_inp", experts, WIDTH, kind=T.F32, gain=3.0)
    for part, (rows, columns) in {"gate": (hidden, WIDTH), "up": (hidden, WIDTH), "down": (WIDTH, hidden)}.items():
        f.matrix(f"{block}.ffn_{part}_exps", experts, rows, columns, kind=kind, gain=2.0)
        if bias:
            f.vector(f"{block}.ffn_{part}_exps.bias", experts, rows, deviation=0.3)
    if bias:
        f.vector(f"{block}.ffn_gate_inp.bias", experts)


def experts(f, x, block, weighing, used=2, act=lambda g, u: silu(g) * u):
    scores = f.linear(x, f"{block}.ffn_gate_inp")
    out = np.zeros_like(x)
    for row in range(len(x)):
        chosen = np.argsort(-scores[row], kind="stable")[:used]
        share = softmax(scores[row][chosen]) if weighing == "chosen" else softmax(scores[row])[chosen]
        if weighing == "renormalized":
            share = share / share.sum()

        def product(y, part, e):
            bias = f.w.get(f"{block}.ffn_{part}_exps.bias")
            return f.w[f"{block}.ffn_{part}_exps.weight"][e] @ y + (0 if bias is None else bias[e])

        for e, s in zip(chosen, share):
            out[row] += s * product(act(product(x[row], "gate", e), product(x[row], "up", e)), "down", e)
    return out


# ---- architectures: each writes a file and gives functions from tokens to logits ------------------


def begin(name, arch, layers=2, context=256, width=WIDTH, types=(T.Q8_0, T.Q4_0), hidden=256, **meta):
    f = File(name, arch, types)
    f.meta(context_length=context, embedding_length=width, block_count=layers, feed_forward_length=hidden)
    f.meta(attention__layer_norm_rms_epsilon=1e-5, **meta)
    f.layers = layers
    f.matrix("token_embd", VOCABULARY, width, kind=T.Q8_0, gain=np.sqrt(width))
    f.norm("output_norm", width)
    return f


def logits(f, x, cap=0.0):
    y = f.linear(f.rms(x, "output_norm"), "output" if "output.weight" in f.w else "token_embd")
    return cap * np.tanh(y / cap) if cap else y


def pre_norm(f, x, mix, feed, second="ffn_norm"):
    for layer in range(f.layers):
        block = f"blk.{layer}"
        x = x + mix(layer, block, f.rms(x, f"{block}.attn_norm"))
        x = x + feed(block, f.rms(x, f"{block}.{second}"))
    return x


def embedded(f, tokens, factor=1.0):
    return f.w["token_embd.weight"][tokens] * factor


def make_plain(f, heads, fused=False, hidden=256, feed=None, norms=("attn_norm", "ffn_norm"), width=WIDTH):
    for block in (f"blk.{i}" for i in range(f.layers)):
        for norm in norms:
            f.norm(f"{block}.{norm}", width)
        heads.make(block)
        feed(block) if feed else make_gated(f, block, hidden, fused, width)


def llama(name, window=None, moe=False, angles=None, tied=False, hidden=256, types=(T.Q8_0, T.Q4_0), **meta):
    f = begin(name, "llama", types=types, hidden=hidden, rope__freq_base=10000.0, rope__dimension_count=16, **meta)
    heads = Heads(f, style="pairs")
    if window:
        f.meta(attention__sliding_window=window)
    if moe:
        f.meta(expert_count=6, expert_used_count=2)
    make_plain(f, heads, hidden=hidden, feed=(lambda block: make_experts(f, block)) if moe else None)
    if not tied:
        f.matrix("output", VOCABULARY, WIDTH)
    angles = angles(f) if angles else frequencies(16, 10000.0)

    def run(tokens):
        x = pre_norm(f, embedded(f, tokens), lambda l, b, x: heads(x, b, angles, window=window),
                     lambda b, x: experts(f, x, b, "renormalized") if moe else gated(f, x, b))
        return logits(f, x)

    return f, run, {"window": window}


def llama3_angles(f):
    factors = f.plain("rope_freqs.weight", [1, 1, 1.5, 2, 4, 8, 8, 8])
    return frequencies(16, 10000.0, factors=factors)


def qwen(name, arch, qk=None, bias="", feed=None, make=None, yarn=None, types=(T.Q8_0,), **meta):
    f = begin(name, arch, types=types, rope__freq_base=1e6, **meta)
    heads = Heads(f, size=32 if qk else 16, qk=qk, bias=bias)
    make_plain(f, heads, feed=(lambda block: make(f, block)) if make else None)
    if arch.endswith("moe"):
        f.matrix("output", VOCABULARY, WIDTH)
    angles = frequencies(heads.size, 1e6, yarn=yarn)

    def run(tokens):
        x = pre_norm(f, embedded(f, tokens), lambda l, b, x: heads(x, b, angles),
                     lambda b, x: feed(f, x, b) if feed else gated(f, x, b))
        return logits(f, x)

    return f, run, {}


def make_shared(f, block):
    make_experts(f, block)
    f.vector(f"{block}.ffn_gate_inp_shexp.weight", WIDTH, deviation=0.3)
    for part, shape in {"gate": (64, WIDTH), "up": (64, WIDTH), "down": (WIDTH, 64)}.items():
        f.matrix(f"{block}.ffn_{part}_shexp", *shape)


def shared(f, x, block):
    own = silu(f.linear(x, f"{block}.ffn_gate_shexp")) * f.linear(x, f"{block}.ffn_up_shexp")
    share = 1 / (1 + np.exp(-(x @ f.w[f"{block}.ffn_gate_inp_shexp.weight"])))
    return experts(f, x, block, "all") + share[:, None] * f.linear(own, f"{block}.ffn_down_shexp")


def gemma(name, arch, layers=2, width=WIDTH, hidden=256, sandwich=False, qk=None, cap=0.0, final=0.0, window=None, period=0,
          local=None, linear=1.0, types=(T.Q8_0,), **meta):
    f = begin(name, arch, layers=layers, width=width, hidden=hidden, types=types, rope__freq_base=1e6 if local else 1e4, **meta)
    heads = Heads(f, size=16, width=width, qk=qk)
    if window:
        f.meta(attention__sliding_window=window)
    if cap:
        f.meta(attn_logit_softcapping=cap, final_logit_softcapping=final)
    norms = ["attn_norm", "ffn_norm"] + (["post_attention_norm", "post_ffw_norm"] if sandwich else [])
    make_plain(f, heads, hidden=hidden, norms=norms, width=width)
    far = frequencies(16, 1e6 if local else 1e4, linear=linear)
    near = frequencies(16, local) if local else far

    def mix(layer, block, x):
        slides = bool(period) and (layer + 1) % period != 0
        y = heads(x, block, near if slides else far, window=window if slides else None, cap=cap)
        return f.rms(y, f"{block}.post_attention_norm") if sandwich else y

    def feed(block, x):
        y = gated(f, x, block, gelu_tanh)
        return f.rms(y, f"{block}.post_ffw_norm") if sandwich else y

    def run(tokens):
        return logits(f, pre_norm(f, embedded(f, tokens, np.sqrt(width)), mix, feed), final)

    return f, run, {"window": window}


def phi3(name):
    """The factors for long contexts are used where the context is above the first one."""
    types = (T.Q5_0, T.Q3_K, T.Q5_1)
    f = begin(name, "phi3", context=256, types=types, rope__freq_base=10000.0, rope__dimension_count=12,
              rope__scaling__original_context_length=64, rope__scaling__attn_factor=1.25)
    heads = Heads(f, fused=True)
    make_plain(f, heads, fused=True)
    f.matrix("output", VOCABULARY, WIDTH)
    short = f.plain("rope_factors_short.weight", [1, 1, 1.1, 1.2, 1.3, 1.4])
    long = f.plain("rope_factors_long.weight", [1, 1.5, 3, 5, 9, 20])

    def run(tokens, context):
        frequency, _ = frequencies(12, 10000.0, factors=long if context > 64 else short)
        x = pre_norm(f, embedded(f, tokens), lambda l, b, x: heads(x, b, (frequency, 1.25)), lambda b, x: gated(f, x, b, fused=True))
        return logits(f, x)

    return f, run, {"contexts": [64, 200]}


def olmo(name, window=None, yarn=None, **meta):
    f = begin(name, "olmo2", layers=4 if window else 2, hidden=64, types=(T.Q4_1, T.Q8_0), rope__freq_base=500000.0, **meta)
    heads = Heads(f, qk="all")
    if window:
        f.meta(attention__sliding_window=window)
    make_plain(f, heads, hidden=64, norms=("post_attention_norm", "post_ffw_norm"))
    f.matrix("output", VOCABULARY, WIDTH)
    far, near = frequencies(16, 500000.0, yarn=yarn), frequencies(16, 500000.0)

    def run(tokens):
        x = embedded(f, tokens)
        for layer in range(f.layers):
            block, slides = f"blk.{layer}", bool(window) and layer % 4 != 3
            a = heads(x, block, near if slides else far, window=window if slides else None)
            x = x + f.rms(a, f"{block}.post_attention_norm")
            x = x + f.rms(gated(f, x, block), f"{block}.post_ffw_norm")
        return logits(f, x)

    return f, run, {"window": window}


def gpt_oss(name, window=8):
    f = begin(name, "gpt-oss", types=(T.Q8_0, T.Q5_1), rope__freq_base=150000.0, rope__scaling__type="yarn",
              rope__scaling__factor=32.0, rope__scaling__original_context_length=4096, expert_count=6, expert_used_count=2,
              attention__sliding_window=window)
    heads = Heads(f, size=32, bias="qkvo", sinks=True)
    make_plain(f, heads, norms=("attn_norm", "post_attention_norm"), feed=lambda b: make_experts(f, b, bias=True, kind=T.MXFP4))
    f.matrix("output", VOCABULARY, WIDTH)
    angles = frequencies(32, 150000.0, yarn=(32.0, 4096, False))

    def clamped(gate, up):
        gate, up = np.minimum(gate, 7.0), np.clip(up, -7.0, 7.0)
        return gate / (1 + np.exp(-1.702 * gate)) * (up + 1)

    def run(tokens):
        x = pre_norm(f, embedded(f, tokens), lambda l, b, x: heads(x, b, angles, window=window if l % 2 == 0 else None),
                     lambda b, x: experts(f, x, b, "chosen", act=clamped), second="post_attention_norm")
        return logits(f, x)

    return f, run, {"window": window}


def causal_conv(f, x, block, kernel):
    w, bias = f.w[f"{block}.ssm_conv1d.weight"], f.w[f"{block}.ssm_conv1d.bias"]
    padded = np.concatenate([np.zeros((kernel - 1, x.shape[1])), x])
    return silu(np.stack([(padded[t:t + kernel].T * w).sum(axis=1) for t in range(len(x))]) + bias)


def mamba(name, norms=False):
    inner, n, kernel, rank = 64, 8, 4, 32
    f = begin(name, "mamba", types=(T.Q8_0, T.Q5_0), ssm__conv_kernel=kernel, ssm__inner_size=inner, ssm__state_size=n,
              ssm__time_step_rank=rank, **({"ssm__dt_b_c_rms": True} if norms else {}))
    for block in (f"blk.{i}" for i in range(f.layers)):
        f.norm(f"{block}.attn_norm", WIDTH)
        f.matrix(f"{block}.ssm_in", 2 * inner, WIDTH), f.matrix(f"{block}.ssm_x", rank + 2 * n, inner)
        f.vector(f"{block}.ssm_conv1d.weight", inner, kernel, deviation=0.5), f.vector(f"{block}.ssm_conv1d.bias", inner)
        f.matrix(f"{block}.ssm_dt", inner, rank), f.vector(f"{block}.ssm_dt.bias", inner, around=-1.0)
        f.plain(f"{block}.ssm_a", -np.tile(np.arange(1, n + 1), (inner, 1)))
        f.vector(f"{block}.ssm_d", inner, around=1.0), f.matrix(f"{block}.ssm_out", WIDTH, inner)

    def layer(x, block):
        y, z = np.split(f.linear(x, f"{block}.ssm_in"), 2, axis=1)
        y = causal_conv(f, y, block, kernel)
        dt, b, c = np.split(f.linear(y, f"{block}.ssm_x"), [rank, rank + n], axis=1)
        if norms:
            dt, b, c = bare_rms(dt), bare_rms(b), bare_rms(c)
        dt = softplus(f.linear(dt, f"{block}.ssm_dt"))
        state, out = np.zeros((inner, n)), []
        for t in range(len(x)):
            state = np.exp(dt[t][:, None] * f.w[f"{block}.ssm_a"]) * state + (dt[t] * y[t])[:, None] * b[t]
            out.append(state @ c[t] + f.w[f"{block}.ssm_d"] * y[t])
        return f.linear(np.stack(out) * silu(z), f"{block}.ssm_out")

    def run(tokens):
        x = embedded(f, tokens)
        for block in (f"blk.{i}" for i in range(f.layers)):
            x = x + layer(f.rms(x, f"{block}.attn_norm"), block)
        return logits(f, x)

    return f, run, {}


def mamba2(name, groups=2):
    inner, n, kernel, heads = 128, 16, 4, 4
    mixed, size = inner + 2 * groups * n, inner // heads
    f = begin(name, "mamba2", types=(T.Q8_0, T.Q4_1), ssm__conv_kernel=kernel, ssm__inner_size=inner, ssm__state_size=n,
              ssm__time_step_rank=heads, ssm__group_count=groups)
    for block in (f"blk.{i}" for i in range(f.layers)):
        f.norm(f"{block}.attn_norm", WIDTH)
        f.matrix(f"{block}.ssm_in", inner + mixed + heads, WIDTH), f.matrix(f"{block}.ssm_out", WIDTH, inner)
        f.vector(f"{block}.ssm_conv1d.weight", mixed, kernel, deviation=0.5), f.vector(f"{block}.ssm_conv1d.bias", mixed)
        f.vector(f"{block}.ssm_dt.bias", heads), f.plain(f"{block}.ssm_a", -np.arange(1, heads + 1)[:, None] / 2)
        f.vector(f"{block}.ssm_d", heads, 1, around=1.0)
        f.vector(f"{block}.ssm_norm.weight", groups, inner // groups, around=1.0)

    def layer(x, block):
        z, xbc, dt = np.split(f.linear(x, f"{block}.ssm_in"), [inner, inner + mixed], axis=1)
        y, b, c = np.split(causal_conv(f, xbc, block, kernel), [inner, inner + groups * n], axis=1)
        dt, count = softplus(dt + f.w[f"{block}.ssm_dt.bias"]), len(x)
        y, group = y.reshape(count, heads, size), np.arange(heads) * groups // heads
        b, c = b.reshape(count, groups, n)[:, group], c.reshape(count, groups, n)[:, group]
        a, state, out = f.w[f"{block}.ssm_a"][:, 0], np.zeros((heads, size, n)), []
        for t in range(count):
            state = np.exp(dt[t] * a)[:, None, None] * state + (dt[t][:, None] * y[t])[:, :, None] * b[t][:, None, :]
            out.append((state * c[t][:, None, :]).sum(axis=2) + f.w[f"{block}.ssm_d"] * y[t])
        y = np.stack(out).reshape(count, inner) * silu(z)
        y = bare_rms(y.reshape(count, groups, -1)) * f.w[f"{block}.ssm_norm.weight"]
        return f.linear(y.reshape(count, inner), f"{block}.ssm_out")

    def run(tokens):
        x = embedded(f, tokens)
        for block in (f"blk.{i}" for i in range(f.layers)):
            x = x + layer(f.rms(x, f"{block}.attn_norm"), block)
        return logits(f, x)

    return f, run, {}


def layer_norm(f, x, name):
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-12) * f.w[f"{name}.weight"] + f.w[f"{name}.bias"]


def exact_gelu(x):
    from math import erf
    return 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def bert(name, arch, pooling, rotary=False):
    f = File(name, arch, (T.Q8_0, T.Q4_K) if not rotary else (T.Q8_0,))
    f.meta(context_length=64, embedding_length=WIDTH, block_count=2, feed_forward_length=256, pooling_type=pooling,
           attention__layer_norm_epsilon=1e-12, attention__causal=False)
    heads = Heads(f, kv=4, bias="" if rotary else "qkvo", fused=rotary)
    f.matrix("token_embd", VOCABULARY, WIDTH), f.vector("token_types.weight", 2, WIDTH)

    def norm(name):
        f.norm(name, WIDTH), f.vector(f"{name}.bias", WIDTH)

    norm("token_embd_norm")
    if rotary:
        f.meta(rope__freq_base=1000.0)
    else:
        f.vector("position_embd.weight", 64, WIDTH, deviation=0.5)
    for block in ("blk.0", "blk.1"):
        heads.make(block), norm(f"{block}.attn_output_norm"), norm(f"{block}.layer_output_norm")
        if rotary:
            make_gated(f, block)
        else:
            f.matrix(f"{block}.ffn_up", 256, WIDTH), f.vector(f"{block}.ffn_up.bias", 256)
            f.matrix(f"{block}.ffn_down", WIDTH, 256), f.vector(f"{block}.ffn_down.bias", WIDTH)
    angles = frequencies(16, 1000.0) if rotary else None

    def run(tokens):
        x = f.w["token_embd.weight"][tokens] + f.w["token_types.weight"][0]
        x = layer_norm(f, x if rotary else x + f.w["position_embd.weight"][:len(tokens)], "token_embd_norm")
        for block in ("blk.0", "blk.1"):
            x = layer_norm(f, x + heads(x, block, angles, causal=False), f"{block}.attn_output_norm")
            y = gated(f, x, block) if rotary else f.linear(exact_gelu(f.linear(x, f"{block}.ffn_up")), f"{block}.ffn_down")
            x = layer_norm(f, x + y, f"{block}.layer_output_norm")
        pooled = {1: x.mean(axis=0), 2: x[0], 3: x[-1]}[pooling]
        return pooled / np.sqrt((pooled * pooled).sum())

    return f, run, {"encoder": True}


YARN = dict(rope__scaling__type="yarn", rope__scaling__factor=4.0, rope__scaling__original_context_length=64)
MODELS = {
    "llama": lambda n: llama(n, types=(T.Q8_0, T.Q4_K, T.Q5_0, T.Q6_K)),
    "llama3": lambda n: llama(n, angles=llama3_angles, tied=True, types=(T.Q4_0, T.Q5_K, T.IQ4_NL)),
    "llama-linear": lambda n: llama(n, angles=lambda f: frequencies(16, 10000.0, linear=4.0), hidden=64, types=(T.F16, T.BF16, T.F32),
                                    rope__scaling__type="linear", rope__scaling__factor=4.0),
    "llama-yarn": lambda n: llama(n, angles=lambda f: frequencies(16, 10000.0, yarn=(4.0, 64, True)), types=(T.Q4_1, T.IQ4_XS), **YARN),
    "mistral": lambda n: llama(n, window=8, types=(T.Q5_1, T.Q2_K, T.IQ3_S)),
    "mixtral": lambda n: llama(n, moe=True, types=(T.Q8_0, T.Q4_0)),
    "qwen2": lambda n: qwen(n, "qwen2", bias="qkv", types=(T.Q8_0, T.IQ2_XXS, T.IQ3_XXS)),
    "qwen2moe": lambda n: qwen(n, "qwen2moe", bias="qkv", make=make_shared, feed=shared, expert_count=6, expert_used_count=2),
    "qwen3": lambda n: qwen(n, "qwen3", qk="each", yarn=(4.0, 64, True), types=(T.Q8_0, T.IQ2_XS, T.IQ2_S), **YARN),
    "qwen3moe": lambda n: qwen(n, "qwen3moe", qk="each", make=make_experts, feed=lambda f, x, b: experts(f, x, b, "renormalized"),
                               types=(T.Q8_0, T.Q5_1), expert_count=6, expert_used_count=2),
    "gemma": lambda n: gemma(n, "gemma", types=(T.Q8_0, T.IQ1_S, T.TQ1_0)),
    "gemma2": lambda n: gemma(n, "gemma2", sandwich=True, cap=5.0, final=30.0, window=8, period=2, types=(T.Q8_0, T.TQ2_0)),
    "gemma3": lambda n: gemma(n, "gemma3", layers=7, width=32, hidden=64, sandwich=True, qk="each", window=8, period=6, local=1e4,
                              linear=8.0, rope__scaling__type="linear", rope__scaling__factor=8.0),
    "phi3": phi3,
    "olmo2": olmo,
    "olmo3": lambda n: olmo(n, window=8, yarn=(4.0, 64, True), **YARN),
    "gpt-oss": gpt_oss,
    "mamba": mamba,
    "falcon-mamba": lambda n: mamba(n, norms=True),
    "mamba2": mamba2,
    "bert": lambda n: bert(n, "bert", 1),
    "nomic-bert": lambda n: bert(n, "nomic-bert", 2, rotary=True),
}


def digits(values):
    return [float(f"{v:.7g}") for v in values]


def main():
    HERE.mkdir(exist_ok=True)
    for name in sys.argv[1:] or MODELS:
        f, run, facts = MODELS[name](name)
        tokens = [int(t) for t in f.random.integers(0, VOCABULARY, 48)]
        window = facts.get("window")
        lengths = sorted({1, 7, 48} | ({window - 1, window, window + 1} if window else set()))
        cases = []
        for context in facts.get("contexts", [64]):
            # What follows each length, from whole passes of their own.
            for n in lengths:
                out = run(tokens[:n], context) if "contexts" in facts else run(tokens[:n])
                cases.append({"context": context, "length": n, "values": digits(out if facts.get("encoder") else out[-1])})
        f.write()
        text = ",\n".join(json.dumps(c) for c in cases)
        encoder = json.dumps(bool(facts.get("encoder")))
        (HERE / f"{name}.json").write_text(f'{{"encoder": {encoder}, "tokens": {tokens},\n"cases": [\n{text}\n]}}\n')
        largest = max(abs(v) for c in cases for v in c["values"])
        print(f"{name}: {(HERE / f'{name}.gguf').stat().st_size} bytes, largest value {largest:.3g}")


if __name__ == "__main__":
    main()
