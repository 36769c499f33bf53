"""What CPython itself makes of `random.Random(seed).shuffle(list(range(size)))`.

Reads one case a line from standard input, `SEED SIZE`, and answers one line each: `SEED SIZE DIGEST`, followed by
the permutation itself up to 33 elements. The digest is 64-bit FNV-1a over the elements as whole words.
`golden/cpython_shuffle.txt` is its output; `cpython_shuffle.rs` compares both with ours.
Runs under any Python from 3.2 on, with the standard library only.
"""

import random
import sys


def digest(items):
    state = 0xCBF29CE484222325
    for item in items:
        state = ((state ^ item) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return format(state, "016x")


def main():
    for line in sys.stdin:
        seed, size = map(int, line.split()[:2])
        items = list(range(size))
        random.Random(seed).shuffle(items)
        shown = items if size <= 33 else []
        print(" ".join(map(str, [seed, size, digest(items)] + shown)))


main()
