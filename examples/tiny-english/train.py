#!/usr/bin/env python3
"""Trains tiny-english: a byte-level language model of the llama architecture.

    python3 train.py --corpus DIR --out DIR --compile

Fetches the books into the corpus folder if it is not there (corpus.py), trains,
writes model.gguf and compares its held-out loss with that of the float weights.
Needs torch, numpy and gguf. With a corpus folder in place it needs no network.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import corpus

# --------------------------------------------------------------------------
# Model
# --------------------------------------------------------------------------

VOCABULARY = 256
LAYERS = 6
WIDTH = 256
HEADS = 8
KV_HEADS = 4
HEAD_WIDTH = 32
FFN = 768
CONTEXT = 1024
ROPE_BASE = 10000.0
EPSILON = 1e-5

SAMPLE_PROMPTS = ["The old man ", "It was a fine evening, and ",
                  "\"I do not know,\" said ", "And the king said unto "]

# Matrices stored as q4_k; the others are q8_0 and the norms f32.
Q4_K_TENSORS = {"ffn_gate", "ffn_up"}


def rotate(x, cos, sin):
    """RoPE on the pairs (2i, 2i+1)."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Block(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.attn_norm = nn.RMSNorm(WIDTH, EPSILON)
        self.attn_q = nn.Linear(WIDTH, HEADS * HEAD_WIDTH, bias=False)
        self.attn_k = nn.Linear(WIDTH, KV_HEADS * HEAD_WIDTH, bias=False)
        self.attn_v = nn.Linear(WIDTH, KV_HEADS * HEAD_WIDTH, bias=False)
        self.attn_output = nn.Linear(HEADS * HEAD_WIDTH, WIDTH, bias=False)
        self.ffn_norm = nn.RMSNorm(WIDTH, EPSILON)
        self.ffn_gate = nn.Linear(WIDTH, FFN, bias=False)
        self.ffn_up = nn.Linear(WIDTH, FFN, bias=False)
        self.ffn_down = nn.Linear(FFN, WIDTH, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape

        def heads(y, count):
            return y.view(batch, length, count, HEAD_WIDTH).transpose(1, 2)

        y = self.attn_norm(x)
        q = rotate(heads(self.attn_q(y), HEADS), cos, sin)
        k = rotate(heads(self.attn_k(y), KV_HEADS), cos, sin)
        v = heads(self.attn_v(y), KV_HEADS)
        # Query head h reads key/value head h / (HEADS / KV_HEADS).
        k = k.repeat_interleave(HEADS // KV_HEADS, 1).to(v.dtype)
        v = v.repeat_interleave(HEADS // KV_HEADS, 1)
        y = F.scaled_dot_product_attention(q.to(v.dtype), k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(batch, length, HEADS * HEAD_WIDTH)
        x = x + self.dropout(self.attn_output(y))
        y = self.ffn_norm(x)
        y = self.ffn_down(F.silu(self.ffn_gate(y)) * self.ffn_up(y))
        return x + self.dropout(y)


class Model(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.token_embd = nn.Embedding(VOCABULARY, WIDTH)
        self.blk = nn.ModuleList(Block(dropout) for _ in range(LAYERS))
        self.output_norm = nn.RMSNorm(WIDTH, EPSILON)
        self.output = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.dropout = nn.Dropout(dropout)
        frequency = ROPE_BASE ** (-torch.arange(0, HEAD_WIDTH, 2).double() / HEAD_WIDTH)
        angle = torch.arange(CONTEXT).double()[:, None] * frequency
        self.register_buffer("cos", angle.cos().float(), persistent=False)
        self.register_buffer("sin", angle.sin().float(), persistent=False)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                into_residual = name.endswith(("attn_output.weight", "ffn_down.weight"))
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * LAYERS) if into_residual else 0.02)

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.dropout(self.token_embd(tokens))
        for block in self.blk:
            x = block(x, self.cos[:length], self.sin[:length])
        return self.output(self.output_norm(x))


# --------------------------------------------------------------------------
# Quantisation: the values in torch (also used while training), the bytes in numpy
# --------------------------------------------------------------------------

def half(x):
    return x.half().float()


def q8_0(w):
    """Blocks of 32: w = d * q, q in -127..127. Returns d and q."""
    blocks = w.reshape(-1, 32)
    d = blocks.abs().amax(1, keepdim=True) / 127
    q = torch.where(d > 0, blocks / d, 0).round()
    return half(d), q


def q4_k(w):
    """Super-blocks of 8 blocks of 32: w = d*sc * q - dmin*m, q in 0..15, sc and
    m in 0..63. Returns d, dmin, sc, m, q."""
    blocks = w.reshape(-1, 8, 32)
    low = blocks.amin(2).clamp(max=0)
    scale = (blocks.amax(2).clamp(min=0) - low) / 15
    d = half(scale.amax(1, keepdim=True) / 63)
    dmin = half((-low).amax(1, keepdim=True) / 63)
    sc = torch.where(d > 0, scale / d, 0).round().clamp(0, 63)
    m = torch.where(dmin > 0, -low / dmin, 0).round().clamp(0, 63)
    step, offset = (d * sc)[..., None], (dmin * m)[..., None]
    q = torch.where(step > 0, (blocks + offset) / step, 0).round().clamp(0, 15)
    return d, dmin, sc, m, q


def q8_0_values(w):
    d, q = q8_0(w)
    return (d * q).view_as(w)


def q4_k_values(w):
    d, dmin, sc, m, q = q4_k(w)
    return ((d * sc)[..., None] * q - (dmin * m)[..., None]).view_as(w)


def bytes_of(x, dtype):
    return x.cpu().numpy().astype(dtype)


def q8_0_bytes(w):
    d, q = q8_0(w)
    block = np.concatenate([bytes_of(d, "<f2").view(np.uint8),
                            bytes_of(q, np.int8).view(np.uint8)], axis=1)  # 34 bytes
    return block.reshape(w.shape[0], -1)


def q4_k_bytes(w):
    d, dmin, sc, m, q = q4_k(w)
    sc, m, q = (bytes_of(x, np.uint8) for x in (sc, m, q))
    # 12 bytes: sc[0..4] and m[0..4] in the low six bits of bytes 0-3 and 4-7;
    # the low nibbles of sc[4..8] and m[4..8] in bytes 8-11, their two high
    # bits on top of bytes 0-3 and 4-7.
    scales = np.concatenate([
        sc[:, :4] | (sc[:, 4:] >> 4) << 6,
        m[:, :4] | (m[:, 4:] >> 4) << 6,
        (sc[:, 4:] & 15) | (m[:, 4:] & 15) << 4,
    ], axis=1)
    # 32 bytes for two blocks: the even one in the low nibbles, the odd one high.
    nibbles = (q[:, 0::2] | q[:, 1::2] << 4).reshape(-1, 128)
    block = np.concatenate([bytes_of(d, "<f2").view(np.uint8),
                            bytes_of(dmin, "<f2").view(np.uint8),
                            scales, nibbles], axis=1)  # 144 bytes
    return block.reshape(w.shape[0], -1)


class Quantised:
    """Puts the quantised values in place of the weights and the weights back.

    Gradients taken in between are applied to the weights: quantisation-aware
    training with the straight-through estimator.
    """

    def __init__(self, model):
        named = [(n, p) for n, p in model.named_parameters() if p.dim() == 2]
        self.q4 = [p for n, p in named if is_q4_k(n)]
        self.q8 = [p for n, p in named if not is_q4_k(n)]
        self.saved = None

    @torch.no_grad()
    def put(self):
        self.saved = [p.clone() for p in self.q4 + self.q8]
        for weights, values in ((self.q4, q4_k_values), (self.q8, q8_0_values)):
            flat = values(torch.cat([p.reshape(-1) for p in weights]))
            for p, v in zip(weights, flat.split([p.numel() for p in weights])):
                p.copy_(v.view_as(p))

    @torch.no_grad()
    def restore(self):
        for p, w in zip(self.q4 + self.q8, self.saved):
            p.copy_(w)


def is_q4_k(name):
    return any(f".{t}." in name for t in Q4_K_TENSORS)


def write_gguf(model, path):
    import gguf
    kinds = gguf.GGMLQuantizationType
    out = gguf.GGUFWriter(path, "llama")
    out.add_name("tiny-english")
    out.add_description("Byte-level English language model, trained on public-domain books")
    out.add_license("MIT OR Apache-2.0")
    out.add_languages(["en"])
    out.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_K_M)
    out.add_quantization_version(2)
    out.add_vocab_size(VOCABULARY)
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(FFN)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_key_length(HEAD_WIDTH)
    out.add_value_length(HEAD_WIDTH)
    out.add_layer_norm_rms_eps(EPSILON)
    out.add_rope_dimension_count(HEAD_WIDTH)
    out.add_rope_freq_base(ROPE_BASE)
    # Token i is the byte i; the strings are only its printable name.
    out.add_tokenizer_model("byte")
    out.add_token_list([f"<0x{i:02X}>" for i in range(VOCABULARY)])
    out.add_token_types([gguf.TokenType.BYTE] * VOCABULARY)
    out.add_add_bos_token(False)
    out.add_add_eos_token(False)
    for name, p in model.named_parameters():
        w = p.detach().float().cpu()
        if w.dim() == 1:
            out.add_tensor(name, w.numpy())
        elif is_q4_k(name):
            out.add_tensor(name, q4_k_bytes(w), raw_dtype=kinds.Q4_K)
        else:
            out.add_tensor(name, q8_0_bytes(w), raw_dtype=kinds.Q8_0)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def read_gguf(path, dropout=0.0):
    """The model with the dequantised weights of the file."""
    import gguf
    model = Model(dropout)
    parameters = dict(model.named_parameters())
    for tensor in gguf.GGUFReader(path).tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        p = parameters.pop(tensor.name)
        with torch.no_grad():
            p.copy_(torch.from_numpy(values.copy()).view_as(p))
    if parameters:
        raise ValueError(f"tensors missing in the file: {sorted(parameters)}")
    return model


# --------------------------------------------------------------------------
# Training
# --------------------------------------------------------------------------

def load(path, device):
    return torch.from_numpy(np.fromfile(path, np.uint8)).to(device)


@torch.no_grad()
def bits_per_byte(model, text, autocast):
    """Mean over whole windows of CONTEXT bytes; a window's first byte is given."""
    was_training = model.training
    model.eval()
    windows = text[:text.numel() // CONTEXT * CONTEXT].view(-1, CONTEXT).long()
    total, count = 0.0, 0
    for batch in windows.split(32):
        with torch.autocast(text.device.type, torch.bfloat16, enabled=autocast):
            logits = model(batch)
        loss = F.cross_entropy(logits[:, :-1].float().flatten(0, 1),
                               batch[:, 1:].flatten(), reduction="sum")
        total += loss.item()
        count += batch[:, 1:].numel()
    model.train(was_training)
    return total / count / math.log(2)


@torch.no_grad()
def sample(model, prompt, count, temperature, seed, device):
    model.eval()
    random = torch.Generator(device=device).manual_seed(seed)
    tokens = torch.tensor([list(prompt.encode())], device=device)
    for _ in range(count):
        logits = model(tokens[:, -CONTEXT:])[0, -1].float() / temperature
        top = logits.topk(40)
        pick = torch.multinomial(top.values.softmax(0), 1, generator=random)
        tokens = torch.cat([tokens, top.indices[pick][None]], 1)
    return bytes(tokens[0].tolist()).decode("utf-8", "replace")


def rate_at(step, args):
    """Part of --lr: a linear warm-up, then half a cosine down to 2 %."""
    if step < args.warmup:
        return (step + 1) / args.warmup
    done = (step - args.warmup) / max(1, args.steps - args.warmup)
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done))


def make_optimizer(model, args):
    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    return torch.optim.AdamW(
        [{"params": matrices, "weight_decay": args.weight_decay},
         {"params": vectors, "weight_decay": 0.0}],
        lr=args.lr, betas=(0.9, 0.95), fused=matrices[0].is_cuda)


def train(model, quantised, text, held_out, args):
    """Trains the model in place; returns the losses on the way in bits per byte."""
    device = text.device
    autocast = device.type == "cuda"
    step_model = torch.compile(model) if args.compile else model
    optimizer = make_optimizer(model, args)
    random = torch.Generator(device=device).manual_seed(args.seed)
    span = torch.arange(args.length + 1, device=device)
    log, losses, started = [], [], time.time()
    for step in range(args.steps):
        aware = step >= args.steps * (1 - args.aware_part)
        for group in optimizer.param_groups:
            group["lr"] = args.lr * rate_at(step, args)
        start = torch.randint(text.numel() - args.length, (args.batch, 1),
                              generator=random, device=device)
        window = text[start + span].long()
        if aware:
            quantised.put()
        with torch.autocast(device.type, torch.bfloat16, enabled=autocast):
            logits = step_model(window[:, :-1])
        loss = F.cross_entropy(logits.float().flatten(0, 1), window[:, 1:].flatten())
        loss.backward()
        if aware:
            quantised.restore()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
        if (step + 1) % args.report == 0 or step + 1 == args.steps:
            log.append({"step": step + 1,
                        "train": float(torch.stack(losses).mean()) / math.log(2),
                        "held_out": bits_per_byte(model, held_out, autocast),
                        "seconds": round(time.time() - started, 1)})
            losses = []
            print(json.dumps(log[-1]), flush=True)
    return log


def write_checked(model, quantised, path):
    """Writes the file and returns the model read back from it."""
    model.cpu()
    write_gguf(model, path)
    from_file = read_gguf(path)
    quantised.put()
    for (name, p), q in zip(model.named_parameters(), from_file.parameters()):
        if not torch.equal(p, q):
            raise ValueError(f"{name}: the file does not hold the quantised values")
    quantised.restore()
    return from_file


def build(args):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    text = load(args.corpus / "train.txt", device)
    held_out = load(args.corpus / "held-out.txt", device)
    model = Model(args.dropout).to(device)
    quantised = Quantised(model)
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{parameters} parameters, {text.numel()} bytes to train, "
          f"{held_out.numel()} held out, {device}", flush=True)
    log = train(model, quantised, text, held_out, args)
    held_out_float = bits_per_byte(model, held_out, False)
    path = args.out / "model.gguf"
    from_file = write_checked(model, quantised, path).to(device)
    result = {
        "parameters": parameters,
        "bytes_seen": args.steps * args.batch * args.length,
        "held_out_float": held_out_float,
        "held_out_quantised": bits_per_byte(from_file, held_out, False),
        "file_bytes": path.stat().st_size,
        "arguments": {k: v for k, v in vars(args).items() if isinstance(v, (int, float))},
        "torch": torch.__version__,
        "log": log,
    }
    (args.out / "result.json").write_text(json.dumps(result, indent=1))
    print(json.dumps({k: v for k, v in result.items() if k != "log"}), flush=True)
    for seed, prompt in enumerate(SAMPLE_PROMPTS):
        print("---\n" + sample(from_file, prompt, args.sample, 0.7, seed, device), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", type=Path, default=Path("corpus"))
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--length", type=int, default=CONTEXT)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--warmup", type=int, default=200)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--aware-part", type=float, default=0.25,
                        help="part of the steps, at the end, with quantised weights")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=int, default=500)
    parser.add_argument("--sample", type=int, default=500)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    if not args.corpus.exists():
        corpus.fetch(args.corpus)
    build(args)


if __name__ == "__main__":
    main()
