#!/usr/bin/env python3
"""Runs tokenizer_bench and Hugging Face's `tokenizers` (one thread) on the same documents and prints bytes a second of
each and the ratio. The ids must agree. The better of the reference's two ways to encode counts, with its cache warm.

Usage: bench/compare_tokenizer_speed.py --dir TOKENIZER_DIR [--bench build/release/bin/tokenizer_bench] [--bytes N]
       [--at-least RATIO]   exits 1 when a document's ratio is below RATIO
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

os.environ.update(TOKENIZERS_PARALLELISM="false", RAYON_NUM_THREADS="1", HF_HUB_OFFLINE="1")
from transformers import AutoTokenizer, logging  # noqa: E402

sys.path.insert(0, os.path.dirname(__file__))
import tokenizer_texts  # noqa: E402

logging.set_verbosity_error()


def checksum(ids):
    value = 0xCBF29CE484222325
    for i in ids:
        value = (value ^ i) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def reference_speed(tokenizer, text):
    """(ids, MB/s), the best of three runs each of the two ways."""
    best, ids = float("inf"), None
    for encode in (lambda: tokenizer.encode(text, add_special_tokens=False).ids,
                   lambda: tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids):
        for _ in range(3):
            start = time.perf_counter()
            ids = encode()
            best = min(best, time.perf_counter() - start)
    return ids, len(text.encode()) / best / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--bench", default="build/release/bin/tokenizer_bench")
    parser.add_argument("--bytes", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-least", type=float, default=0)
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.dir).backend_tokenizer
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        paths = tokenizer_texts.write_all(folder, args.bytes, args.seed)
        run = subprocess.run([args.bench, args.dir, *map(str, paths)], capture_output=True, text=True, check=True)
        lines = run.stdout.splitlines()
        print(lines[0].replace("\t", " "))
        for path, line in zip(paths, lines[1:]):
            ours = float(line.split("\t")[4])
            ids, theirs = reference_speed(tokenizer, path.read_bytes().decode())
            same = line.split("\t")[3] == checksum(ids)
            failed = failed or not same or ours / theirs < args.at_least
            print(f"{path.stem:9} {len(ids):8} tokens   ours {ours:7.2f} MB/s   reference {theirs:5.2f} MB/s   "
                  f"ratio {ours / theirs:5.1f}   ids {'equal' if same else 'DIFFER'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
