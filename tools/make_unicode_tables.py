#!/usr/bin/env python3
"""Writes src/text/unicode_data.cc: the Unicode properties the reference tokenizer works with.

The reference splits text with Oniguruma and normalises it with a Rust crate, and the two follow different Unicode
versions (printed at the end). So the tables are not taken from a Unicode release but asked of the reference itself,
one code point at a time. Needs the Python package `tokenizers`; Python's own unicodedata only gives the numbers of
the combining classes and the pairs of the decompositions, each confirmed with the reference.

Usage: tools/make_unicode_tables.py > src/text/unicode_data.cc
"""
import sys
import unicodedata

from tokenizers import Regex, normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
NFC, NFD = normalizers.NFC().normalize_str, normalizers.NFD().normalize_str


def members(pattern):
    """The code points that `pattern` matches in the reference's regular expressions."""
    split = pre_tokenizers.Split(Regex(pattern), behavior="removed")
    found = set()
    for start in range(0, len(CODE_POINTS), 65536):
        chunk = CODE_POINTS[start : start + 65536]
        rest = set()
        for text, _ in split.pre_tokenize_str("".join(map(chr, chunk))):
            rest.update(map(ord, text))
        found.update(c for c in chunk if c not in rest)
    return found


def ranges(values):
    """(first, last, value) of the runs of equal values in a dict from code point to value."""
    runs = []
    for c in sorted(values):
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == values[c]:
            runs[-1][1] = c
        else:
            runs.append([c, c, values[c]])
    return runs


def combining_classes():
    """Canonical combining classes: a code point counts only if the reference reorders it."""
    classes = {c: unicodedata.combining(chr(c)) for c in CODE_POINTS}
    classes = {c: k for c, k in classes.items() if k}
    lowest, highest = "\u0334", "\u0345"  # classes 1 and 240: one of them moves past any other mark
    known = {}
    for c, k in classes.items():
        own = NFD(chr(c))
        moves = NFD(highest + chr(c)) == own + highest if k < 240 else NFD(chr(c) + lowest) == lowest + own
        if moves:
            known[c] = k
    return known


def decompositions():
    """Canonical decompositions but Hangul: code point -> (first, second or 0, whether NFC composes it back)."""
    found = {}
    for c in CODE_POINTS:
        if 0xAC00 <= c <= 0xD7A3 or NFD(chr(c)) == chr(c):
            continue
        parts = [int(part, 16) for part in unicodedata.decomposition(chr(c)).split()]
        assert NFD("".join(map(chr, parts))) == NFD(chr(c)), hex(c)
        found[c] = (parts[0], parts[1] if len(parts) > 1 else 0, NFC(chr(c)) == chr(c))
    return found


def emit(name, kind, rows, per_line):
    print(f"const {kind} {name}[] = {{")
    for start in range(0, len(rows), per_line):
        print("    " + " ".join(rows[start : start + per_line]))
    print("};")
    print(f"const size_t {name}Count = sizeof({name}) / sizeof({name}[0]);\n")


def main():
    kinds = {"L": 1, "M": 2, "N": 4, "P": 8, "S": 16}
    flags = {}
    for letter, bit in kinds.items():
        for c in members(r"\p{%s}" % letter):
            assert c not in flags, hex(c)
            flags[c] = bit
    for c in members(r"\s"):
        assert c not in flags, hex(c)
        flags[c] = 32
    classes, pairs = combining_classes(), decompositions()
    print("// Written by tools/make_unicode_tables.py; do not edit.")
    print('#include "text/unicode_data.h"\n')
    print("namespace d3::text {\n// clang-format off\n")
    emit("kCategoryRanges", "CategoryRange",
         ["{0x%X,0x%X,%d}," % tuple(r) for r in ranges(flags)], 6)
    emit("kCombiningRanges", "CombiningRange",
         ["{0x%X,0x%X,%d}," % tuple(r) for r in ranges(classes)], 6)
    emit("kDecompositions", "Decomposition",
         ["{0x%X,0x%X,0x%X,%d}," % (c, a, b, k) for c, (a, b, k) in sorted(pairs.items())], 4)
    print("// clang-format on\n}  // namespace d3::text")
    newest = {"16.0": 0x1C89, "15.1": 0x2EBF0, "15.0": 0x0CF3, "14.0": 0xA7C0, "13.0": 0x8BE, "12.0": 0xA7BA}
    print("newest letters and marks known to the split: " +
          next((v for v, c in newest.items() if c in flags), "older"), file=sys.stderr)
    newest = {"14.0": 0x0C3C, "13.0": 0x1ABF, "12.0": 0x0EBA, "11.0": 0x07FD, "10.0": 0x1DF6, "9.0": 0x08D4}
    print("newest combining classes known to NFC: " +
          next((v for v, c in newest.items() if c in classes), "older"), file=sys.stderr)


if __name__ == "__main__":
    main()
