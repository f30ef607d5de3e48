#!/usr/bin/env python3
"""Compares the tokenizer with the reference (transformers, tokenizers) on generated texts; exits 1 on any difference.

  random       hard random texts (--count of them per tokenizer and class)
  code-points  every code point but surrogates in several surroundings
  configs      tokenizer files changed in many ways: flags of added tokens, prefix space, patterns, merges as strings

Usage: tools/compare_tokenizer.py MODE --dir TOKENIZER_DIR... [--count N] [--seed N] [--command CMD]
CMD gets a tokenizer directory as its last argument, reads one JSON string a line and writes one JSON array of ids a
line; by default `d3 tokenize`.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

os.environ.update(TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
from transformers import AutoTokenizer, logging  # noqa: E402

logging.set_verbosity_error()
CLASSES = ("Qwen2Tokenizer", "Qwen3_5Tokenizer", "PreTrainedTokenizerFast")
BATCH = 20000
GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
        r"\s+(?!\S)|\s+")
GPT4_POSSESSIVE = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|"
                   r"\s+(?!\S)|\s+")
PUNCTUATION = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"


@contextlib.contextmanager
def variant(source, change_config=None, change_file=None):
    """A copy of a tokenizer directory with changed files, and a config.json as checkpoints have it."""
    with tempfile.TemporaryDirectory() as name:
        for file, change in (("tokenizer_config.json", change_config), ("tokenizer.json", change_file)):
            if change is None:
                shutil.copy(pathlib.Path(source, file), name)
                continue
            data = json.loads(pathlib.Path(source, file).read_text())
            change(data)
            pathlib.Path(name, file).write_text(json.dumps(data, ensure_ascii=False))
        pathlib.Path(name, "config.json").write_text(json.dumps({"model_type": "qwen3_5"}))
        yield name


def differences(directory, texts, command):
    """Yields (text, our ids, the reference's ids) where they differ."""
    reference = AutoTokenizer.from_pretrained(directory).backend_tokenizer
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    run = subprocess.run([*command, directory], input=lines, capture_output=True, text=True)
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)} {directory}: {run.stderr.strip()}")
    ours = run.stdout.splitlines()
    assert len(ours) == len(texts), (len(ours), len(texts))
    for start in range(0, len(texts), BATCH):
        part = texts[start : start + BATCH]
        for i, encoding in enumerate(reference.encode_batch_fast(part, add_special_tokens=False)):
            ids = json.loads(ours[start + i])
            if ids != encoding.ids:
                yield part[i], ids, encoding.ids


def report(name, directory, texts, command):
    found = list(differences(directory, texts, command))
    print(f"{name}: {len(texts)} texts, {len(found)} differ", flush=True)
    for text, ours, theirs in found[:5]:
        print(f"  {text!r}\n    ours      {ours}\n    reference {theirs}")
    return len(found)


def code_point_texts():
    for c in range(1, 0x110000):
        if 0xD800 <= c < 0xE000:
            continue
        x = chr(c)
        yield (f"{x}a{x}b|1{x}2| {x} |'{x}|'{x}e|\n{x}\n|  {x}x|e{x}\u0301\u0345{x}\u0334\u1161|\u1100{x}\u11a8|"
               f"\uac00{x}|{x}{x}<{x}|im_end|>{x}")


FRAGMENTS = (
    [" ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", " \n", "\n ", "\r", "\u0085", "\u00a0", "\u180e", "\u2028", "\u3000", "\ufeff",
     "\u200b", "\u200d", "\u202f", "'s", "'S", "'\u017f", "'ll", "'LL", "'re", "'vE", "'d", "'", "''", "\u2019s", "<|im_start|>", "<|im_end|>",
     "<|image_pad|>", "<think>", "</think>", "<|im_", "<|", "|>", "<", "<|im_end|", "<tool_call>", "foo", "The", "the", "hello",
     "straße", "école", "e\u0301", "a\u0328\u0301", "\u0301", "\u0327", "\u0345", "\u0334", "\u05b0", "\u3099", "か\u3099", "\u1100\u1161\u11a8", "한국어",
     "中文", "日本語", "カタカナ", "ﾊﾝｶｸ", "العربية", "हिन्दी", "ไทย", "ελληνικά", "ǅ", "Ǆ", "ﬁ", "ß", "İ", "ı", "K", "Å",
     "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\u2764\ufe0f", "\U0001f1e9\U0001f1ea", "1", "12", "123456", "٣", "Ⅷ", "½", "²", "\u0378",
     "\U000e0001", "\U0010ffff", "\ue000", "\U00016d40", "\U000105c9", "\U00011938", "\u07fd", "\u0c3c", "{\"a\": [1, 2]}", "\\n", "==", "->", "...", "--", "//", "_", "__init__"])


def random_character(rng):
    low, high = rng.choice([(0x20, 0x7F), (0x20, 0x7F), (0x80, 0x250), (0x300, 0x370), (0x370, 0x600), (0x600, 0x1000),
                            (0x1000, 0x2000), (0x2000, 0x2E00), (0x3000, 0x3200), (0x4E00, 0xA000), (0xAC00, 0xD7B0),
                            (0xF900, 0x10000), (0x10000, 0x12000), (0x16000, 0x17000), (0x1D000, 0x20000), (1, 0x110000)])
    while True:
        c = rng.randrange(low, high)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def random_text(rng):
    parts = []
    for _ in range(rng.choice((1, 3, 8, 20, 40))):
        kind = rng.random()
        if kind < 0.55:
            parts.append(rng.choice(FRAGMENTS))
        elif kind < 0.8:
            parts.append(random_character(rng))
        elif kind < 0.9:
            parts.append(rng.choice(FRAGMENTS) * rng.randrange(2, 40))
        elif kind < 0.95:
            parts.append("".join(random_character(rng) for _ in range(rng.randrange(1, 12))))
        else:
            marks = [chr(c) for c in (0x0301, 0x0327, 0x0345, 0x0334, 0x05B0, 0x3099, 0x0300, 0x0316, 0x20D0, 0x1DFA, 0x0C3C)]
            parts.append("".join(rng.choice(marks) for _ in range(rng.randrange(1, 60))))
    return "".join(parts)


def set_class(name):
    def change(config):
        config["tokenizer_class"] = name
    return change


def random_mode(args):
    rng = random.Random(args.seed)
    texts = [random_text(rng) for _ in range(args.count)]
    texts += ["a" * 300, " " * 300, "ab" * 400, "中" * 200, "\u0301\u0327" * 200, "1" * 200, "\U0001f600" * 100, "\n" * 200,
              "<|im_" * 100, "the" * 200, "x " * 200, "\u0301" * 1000]
    failures = 0
    for directory in args.dir:
        for name in CLASSES:
            with variant(directory, set_class(name)) as changed:
                failures += report(f"{directory} {name} random", changed, texts, args.command)
    return failures


def code_points_mode(args):
    texts = list(code_point_texts())
    failures = 0
    for directory in args.dir:
        for name in CLASSES[:2]:
            with variant(directory, set_class(name)) as changed:
                failures += report(f"{directory} {name} code points", changed, texts, args.command)
    return failures


def config_variants():
    """(name, change of tokenizer_config.json, change of tokenizer.json)"""
    def entries(config):
        return [t for t in config["added_tokens_decoder"].values() if t["content"] in ("<|im_end|>", "<think>")]

    for flags in ({"lstrip": True}, {"rstrip": True}, {"lstrip": True, "rstrip": True}, {"normalized": True}, {"special": False},
                  {"special": True}):
        yield str(flags), lambda c, f=flags: [t.update(f) for t in entries(c)], None
        yield f"file {flags}", None, lambda t, f=flags: [a.update(f) for a in t["added_tokens"][:30]]
        yield (f"file without decoder {flags}", lambda c: c.pop("added_tokens_decoder"),
               lambda t, f=flags: [a.update(f) for a in t["added_tokens"][:30]])
    yield "split_special_tokens", lambda c: c.update(split_special_tokens=True), None
    yield "add_prefix_space", lambda c: c.update(add_prefix_space=True), None
    yield "extra_special_tokens", lambda c: c.update(extra_special_tokens=["foo", "the"]), None
    yield "additional_special_tokens", lambda c: c.update(additional_special_tokens=["foo", "the"]), None
    yield "extra named tokens", lambda c: c.update(image_token="foo", mask_token="the", sep_token="e\u0301"), None
    yield "no named tokens", lambda c: [c.pop(k) for k in ("eos_token", "pad_token", "unk_token")], None
    yield "no class", lambda c: c.pop("tokenizer_class"), None
    yield "merges as strings", None, lambda t: t["model"].update(merges=[" ".join(m) for m in t["model"]["merges"]])

    def file_only(change):
        return set_class("PreTrainedTokenizerFast"), change
    yield "no normalizer", *file_only(lambda t: t.update(normalizer=None))
    yield "normalizer sequence", *file_only(lambda t: t.update(normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}]}))
    yield "ignore_merges", *file_only(lambda t: t["model"].update(ignore_merges=True))
    yield "fewer merges", *file_only(lambda t: t["model"].update(merges=t["model"]["merges"][::2][:200]))

    def byte_level(**options):
        return lambda t: t.update(pre_tokenizer={"type": "ByteLevel", "trim_offsets": True, **options})
    for space in (False, True):
        for regex in (False, True):
            yield f"ByteLevel {space} {regex}", *file_only(byte_level(add_prefix_space=space, use_regex=regex))

    def patterns(*list_of, **options):
        def change(t):
            steps = [{"type": "Split", "pattern": {"Regex": p}, "behavior": "Isolated", "invert": False} for p in list_of]
            last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False, **options}
            t.update(pre_tokenizer={"type": "Sequence", "pretokenizers": [*steps, last]})
        return change
    own = json.loads(r'''"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"''')
    for name, change in (("GPT-4's", patterns(GPT4)), ("possessive", patterns(GPT4_POSSESSIVE)),
                         ("punctuation", patterns(PUNCTUATION)), ("two", patterns(r"\p{N}{1,3}", GPT4)),
                         ("three", patterns(r"[0-9]+", r"[一-龥぀-ゟ゠-ヿ]+", PUNCTUATION)), ("a group in ours", patterns(f"(?:{own})")),
                         ("prefix", patterns(GPT4, add_prefix_space=True)), ("prefix and regex", patterns(GPT4, add_prefix_space=True, use_regex=True)),
                         ("optional group", patterns(r"(?:ab)?c|(?i:k)|\P{L}|a(?=b)")), ("classes", patterns(r"[a-f\-\]é]+|[^a-z\s]{2,4}|.".replace("|.", "|x{3}")))):
        yield f"pattern {name}", *file_only(change)


def configs_mode(args):
    rng = random.Random(args.seed)
    texts = [random_text(rng) for _ in range(args.count)]
    texts += ["foo the e\u0301 \u00e9 <|im_end|>  <think> <|im_end|>", " <think>  <think>\n<|im_end|>", "a\u00a0<|im_end|>\u3000b"]
    failures = 0
    for directory in args.dir:
        for name, change_config, change_file in config_variants():
            classes = CLASSES
            probe = json.loads(pathlib.Path(directory, "tokenizer_config.json").read_text())
            if change_config is not None:
                change_config(probe)
            if probe.get("tokenizer_class") != "Qwen2Tokenizer":
                classes = (probe.get("tokenizer_class"),)
            for tokenizer_class in classes:
                def change(config, tokenizer_class=tokenizer_class):
                    if tokenizer_class:
                        config["tokenizer_class"] = tokenizer_class
                    if change_config is not None:
                        change_config(config)
                with variant(directory, change, change_file) as changed:
                    failures += report(f"{name}, {tokenizer_class}", changed, texts, args.command)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("random", "code-points", "configs"))
    parser.add_argument("--dir", nargs="+", required=True)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", type=str.split, default=["build/release/bin/d3", "tokenize"])
    args = parser.parse_args()
    modes = {"random": random_mode, "code-points": code_points_mode, "configs": configs_mode}
    sys.exit(1 if modes[args.mode](args) else 0)


if __name__ == "__main__":
    main()
