#!/usr/bin/env python3
"""Draws docs/terminal.webp: the README's `./run ask demo` command and what it prints, as a terminal shows them.

    terminal_picture.py [--d3 PROGRAM]

Needs Chromium, and: pip install pillow.
"""
import argparse
import html
import os
import re
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
COMMAND = r"""./run ask demo \
    --state 'Write a Python function that merges two sorted lists.' \
    --choice 'kind: What kind of work is this?' \
    --option code='Writing or fixing code' --option math=Mathematics \
    --option chat='Anything else' \
    --noul 'reasoning: Does answering this need multi-step reasoning?'"""
STYLES = {"1": "font-weight: bold", "2": "opacity: 0.6"}
PAGE = """<meta charset="utf-8"><body style="margin: 0; background: #0d1017">
<pre style="margin: 0; padding: 20px 24px; color: #e6edf3; font: 15.2px/21.7px 'DejaVu Sans Mono', monospace">%s</pre>"""
WIDTH, HEIGHT, SCALE = 750, 340, 2


def coloured(text):
    """A terminal's escape sequences as spans."""
    out, depth = "", 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        sequence = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if sequence is None:
            out += html.escape(part)
        elif sequence[1] in ("", "0"):
            out, depth = out + "</span>" * depth, 0
        else:
            out, depth = out + f'<span style="{STYLES.get(sequence[1], "")}">', depth + 1
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--d3", default=str(ROOT / "build/release/bin/d3"))
    a = ap.parse_args()
    run = subprocess.run(["bash", "-euc", COMMAND.replace("./run", f"{a.d3} --color always")], capture_output=True, text=True, check=True,
                         env={**os.environ, "LC_ALL": "C.UTF-8"})
    with tempfile.TemporaryDirectory() as name:
        page, picture = Path(name) / "page.html", Path(name) / "picture.png"
        page.write_text(PAGE % (f'<span style="color: #7ee787">$</span> {html.escape(COMMAND)}\n' + coloured(run.stdout)))
        subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}",
                        f"--force-device-scale-factor={SCALE}", f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True)
        Image.open(picture).convert("RGB").save(ROOT / "docs/terminal.webp", quality=80, method=6)


if __name__ == "__main__":
    main()
