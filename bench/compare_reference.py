#!/usr/bin/env python3
"""Times one question, or one image, on the PyTorch reference and on d3, in turns on the same machine, and prints the
ratio.

    compare_reference.py CHECKPOINT REFERENCE_DIR [--tokens 111,711] [--images 640x640,1280x1280] [--rounds 5]
                         [--dtype bfloat16] [--threads 2] [--programs build/release/bin]

REFERENCE_DIR holds reference.py. Needs: torch, transformers 5.17.0, and d3's `roofline` and `vision` benchmarks (cmake
--preset release && cmake --build --preset release --target roofline vision). Both sides run the text model on random
token ids and the vision tower on random pixels (HEIGHTxWIDTH); neither tokenizes, decodes or resizes. Figures are
medians.
"""
import argparse
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path


class Ours:
    """One of d3's benchmarks, one process for all rounds: it runs whenever a line arrives on its input."""

    def __init__(self, program, checkpoint, dtype, threads):
        self.process = subprocess.Popen([program, checkpoint, "--dtype", dtype, "--threads", str(threads), "--interactive"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, request):
        self.process.stdin.write(f"{request}\n")
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the benchmark ended early")
            if found := re.match(r"(?:pass|image) ([0-9.]+) s", line):
                return float(found[1])


def compare(what, theirs, ours, rounds):
    """Runs both in turns; `theirs` and `ours` give nothing and seconds."""
    theirs_seconds, ours_seconds = [], []
    for round_number in range(rounds + 1):
        started = time.perf_counter()
        theirs()
        seconds = time.perf_counter() - started
        mine = ours()
        if round_number or not rounds:  # the first round warms both up
            theirs_seconds.append(seconds)
            ours_seconds.append(mine)
    ratios = [a / b for a, b in zip(theirs_seconds, ours_seconds)]
    print(f"{what}: reference {statistics.median(theirs_seconds):.3f} s, d3 {statistics.median(ours_seconds):.3f} s, "
          f"ratio {statistics.median(ratios):.2f} (from {min(ratios):.2f} to {max(ratios):.2f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("reference", type=Path)
    parser.add_argument("--tokens", default="111,711", help="lengths of questions; '' for none")
    parser.add_argument("--images", default="", help="HEIGHTxWIDTH of images, multiples of 32")
    parser.add_argument("--rounds", type=int, default=5, help="after one to warm up; 0 times that one")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--ours", help="d3's number format, where it differs from the reference's --dtype (int8)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--programs", type=Path, default=Path(__file__).resolve().parent.parent / "build/release/bin")
    args = parser.parse_args()

    sys.path.insert(0, str(args.reference))
    import torch
    from reference import Reference
    torch.set_num_threads(args.threads)
    reference = Reference(args.checkpoint, args.dtype)
    dtype = args.ours or args.dtype
    if args.tokens:
        ours = Ours(args.programs / "roofline", args.checkpoint, dtype, args.threads)
        for tokens in map(int, args.tokens.split(",")):
            ids = torch.randint(0, reference.model.config.text_config.vocab_size // 2, (1, tokens))
            compare(f"{tokens} tokens", lambda: reference.logits({"input_ids": ids}), lambda: ours.seconds(tokens), args.rounds)
    if args.images:
        ours = Ours(args.programs / "vision", args.checkpoint, dtype, args.threads)
        for height, width in (map(int, size.split("x")) for size in args.images.split(",")):
            grid = torch.tensor([[1, height // 16, width // 16]])
            patches = torch.rand(height * width // 256, 1536) * 2 - 1
            pixels = patches.to(getattr(torch, args.dtype))

            def theirs():
                with torch.no_grad():
                    reference.model.visual(pixels, grid)
            compare(f"{height} x {width} pixels", theirs, lambda: ours.seconds(f"{height} {width}"), args.rounds)


if __name__ == "__main__":
    main()
