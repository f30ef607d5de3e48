#!/usr/bin/env python3
"""Times one question on the PyTorch reference and on d3, in turns on the same machine, and prints the ratio.

    compare_reference.py CHECKPOINT REFERENCE_DIR [--tokens 111,711] [--rounds 5] [--dtype bfloat16] [--threads 2]
                         [--forward build/release/bin/forward]

REFERENCE_DIR holds reference.py. Needs: torch, transformers 5.17.0, and d3's `forward` benchmark (cmake --preset
release && cmake --build --preset release --target forward). Both sides run the model on random token ids; neither
tokenizes. Figures are medians.
"""
import argparse
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path


class Ours:
    """d3's forward benchmark, one process for all rounds: it runs a pass whenever a line arrives on its input."""

    def __init__(self, program, checkpoint, dtype, threads):
        self.process = subprocess.Popen([program, checkpoint, "--dtype", dtype, "--threads", str(threads), "--interactive"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, tokens):
        self.process.stdin.write(f"{tokens}\n")
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the forward benchmark ended early")
            if found := re.match(r"pass ([0-9.]+) s", line):
                return float(found[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("reference", type=Path)
    parser.add_argument("--tokens", default="111,711")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--ours", help="d3's number format, where it differs from the reference's --dtype (int8)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--forward", default=str(Path(__file__).resolve().parent.parent / "build/release/bin/forward"))
    args = parser.parse_args()

    sys.path.insert(0, str(args.reference))
    import torch
    from reference import Reference
    torch.set_num_threads(args.threads)
    reference = Reference(args.checkpoint, args.dtype)
    ours = Ours(args.forward, args.checkpoint, args.ours or args.dtype, args.threads)
    for tokens in map(int, args.tokens.split(",")):
        ids = torch.randint(0, reference.model.config.text_config.vocab_size // 2, (1, tokens))
        theirs_seconds, ours_seconds = [], []
        for round_number in range(args.rounds + 1):
            started = time.perf_counter()
            reference.logits({"input_ids": ids})
            theirs = time.perf_counter() - started
            mine = ours.seconds(tokens)
            if round_number:  # the first round warms both up
                theirs_seconds.append(theirs)
                ours_seconds.append(mine)
        ratios = [a / b for a, b in zip(theirs_seconds, ours_seconds)]
        print(f"{tokens} tokens: reference {statistics.median(theirs_seconds):.3f} s, d3 {statistics.median(ours_seconds):.3f} s, "
              f"ratio {statistics.median(ratios):.2f} (from {min(ratios):.2f} to {max(ratios):.2f})", flush=True)


if __name__ == "__main__":
    main()
