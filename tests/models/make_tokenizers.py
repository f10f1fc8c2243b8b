#!/usr/bin/env python3
"""Writes tokenizers/NAME.gguf, small vocabularies, and tokenizers/expected.json, the ids that other programs give.

    python3 make_tokenizers.py

SentencePiece vocabularies are trained and encoded by the package sentencepiece, byte pairs and BERT's pieces by the package
tokenizers. Needs gguf, numpy, sentencepiece and tokenizers.
"""

import io
import json
from pathlib import Path

import gguf
import sentencepiece
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = Path(__file__).resolve().parent / "tokenizers"
CORPUS = [
    "The quick brown fox jumps over the lazy dog, and the dog doesn't mind at all.",
    "In the beginning there was a word, and the word was a token; tokens were merged by their scores.",
    "We've seen 12345 foxes and 678 dogs in 2026. It's what they'd have said, isn't it?",
    "fn main() {\n    println!(\"hello, world\");\n}\n\nint x = 10;\n",
    "Straße, café, naïve, Ångström: letters with marks. Größe und Übermut.",
    "A line.\nAnother line.\n\nA paragraph.  Two  spaces   three.",
] * 20
TEXTS = [
    "The dog and the fox.", " leading space", "two  spaces   and three", "it's they'd WE'VE isn't", "12345 and 7", "café größe Ω 漢字 🦊",
    "line\nline\n\nparagraph\r\n", "fn main() { x += 1; }", "", "tokens were merged", "a<|end|>b", "Hello, World! (again)",
]
SPLITS = {
    "default": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama-bpe": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


def writer(name, model, tokens, kinds, **special):
    w = gguf.GGUFWriter(HERE / f"{name}.gguf", "llama")
    w.add_tokenizer_model(model)
    w.add_token_list(tokens)
    w.add_token_types(kinds)
    for key, value in special.items():
        getattr(w, f"add_{key}")(value)
    return w


def finish(w):
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()


def pieces(name, prefix):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=out, model_type="bpe", vocab_size=500, byte_fallback=True,
        add_dummy_prefix=prefix, remove_extra_whitespaces=False, normalization_rule_name="identity", minloglevel=2)
    sp = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    count = sp.get_piece_size()
    kinds = [2 if sp.is_unknown(i) else 3 if sp.is_control(i) else 6 if sp.is_byte(i) else 1 for i in range(count)]
    w = writer(name, "llama", [sp.id_to_piece(i) for i in range(count)], kinds, token_scores=[sp.get_score(i) for i in range(count)],
               bos_token_id=1, eos_token_id=2, unk_token_id=0, add_bos_token=True, add_space_prefix=prefix)
    finish(w)
    cases = []
    for text in TEXTS:
        ids = sp.encode(text)
        cases.append({"text": text, "ids": [1] + ids, "decoded": sp.decode(ids)})
    return cases


def pairs(name, pre):
    t = Tokenizer(models.BPE(ignore_merges=pre == "llama-bpe"))
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLITS[pre]), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|begin|>", "<|end|>"], show_progress=False))
    state = json.loads(t.to_str())["model"]
    tokens = [token for token, _ in sorted(state["vocab"].items(), key=lambda item: item[1])]
    kinds = [3 if token.startswith("<|") else 1 for token in tokens]
    merges = [m if isinstance(m, str) else " ".join(m) for m in state["merges"]]
    bos = pre == "llama-bpe"
    finish(writer(name, "gpt2", tokens, kinds, tokenizer_pre=pre, token_merges=merges, bos_token_id=0, eos_token_id=1, add_bos_token=bos))
    out = []
    for text in TEXTS:
        ids = t.encode(text, add_special_tokens=False).ids
        out.append({"text": text, "ids": [0] * bos + ids, "decoded": t.decode(ids, skip_special_tokens=True)})
    return out


def word_pieces(name):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False))
    names = [token for token, _ in sorted(t.get_vocab().items(), key=lambda item: item[1])]
    # As files have them: what begins a word is marked, what goes on is not.
    tokens = [n if n in special else n[2:] if n.startswith("##") else "\u2581" + n for n in names]
    kinds = [2 if n == "[UNK]" else 3 if n in special else 1 for n in names]
    finish(writer(name, "bert", tokens, kinds, bos_token_id=2, sep_token_id=3, unk_token_id=1, pad_token_id=0))
    return [{"text": text, "ids": [2] + t.encode(text, add_special_tokens=False).ids + [3]} for text in TEXTS]


def main():
    HERE.mkdir(exist_ok=True)
    expected = {
        "pieces": pieces("pieces", True), "pieces-no-prefix": pieces("pieces-no-prefix", False),
        "pairs-gpt2": pairs("pairs-gpt2", "default"), "pairs-llama3": pairs("pairs-llama3", "llama-bpe"),
        "pairs-qwen2": pairs("pairs-qwen2", "qwen2"), "bert": word_pieces("bert"),
    }
    parts = [f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]" for name, cases in expected.items()]
    (HERE / "expected.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")
    for path in sorted(HERE.iterdir()):
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
