#!/usr/bin/env python3
"""Random documents in both canonical forms, against what Python and Node make of them.

For each document the `ascii` text must be what Python writes for the parsed document, and must survive being parsed and
written again; the `utf8` text must do the same in Node (`agree.mjs`, which is given the documents on its standard input).

Usage: cargo build -p tintype-storage --example canonical_lines
       agree.py [--documents 2000] [--seed 1] [--binary target/debug/examples/canonical_lines] [--node node]
"""

import argparse
import json
import pathlib
import random
import struct
import subprocess
import sys

# Keeps the import below from writing files into the source tree.
sys.dont_write_bytecode = True

from verify import sent_number  # noqa: E402

# The number of failures printed in full.
SHOWN = 5
HERE = pathlib.Path(__file__).resolve().parent
SPECIAL = ["", "a", "b", "_a", "10", "9", "1", "__proto__", "toString", "\x00", "\x7f", "\u0085", "\u00e9", "\u2028",
           "\ud7ff", "\ue000", "\ufffd", "\uffff", "\U00010000", "\U0001f600", "\U0010ffff", '"', "\\", "/", "\b\t\n\f\r"]
ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def number(rng: random.Random) -> str:
    """A random spelling of a number within the range of a double."""
    kind = rng.randrange(6)
    sign = rng.choice(["", "-"])
    if kind == 0:
        return sign + str(rng.randrange(1000))
    if kind == 1:
        return sign + str(rng.getrandbits(rng.randrange(1, 120)))
    if kind == 2:
        # Any double at all, by its bits.
        value = struct.unpack("<d", rng.randbytes(8))[0]
        return repr(value) if value - value == 0 else "0"
    if kind == 3:
        # Near the exponents at which the spellings change.
        mantissa = rng.choice(["1", "1.0", "9.999999999999999", str(rng.uniform(1, 9.9))])
        return f"{sign}{mantissa}{rng.choice('eE')}{rng.choice([-324, *range(-12, 26)])}"
    if kind == 4:
        return f"{sign}{rng.randrange(10**rng.randrange(1, 20))}.{rng.randrange(10**9):0{rng.randrange(1, 12)}}"
    return sign + str((1 << rng.randrange(50, 70)) + rng.randrange(-2, 3))


def string(rng: random.Random) -> str:
    text = "".join(rng.choice(SPECIAL) if rng.random() < 0.5 else chr(rng.choice([
        rng.randrange(0x20, 0x7F), rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)])) for _ in range(rng.randrange(5)))
    return '"' + "".join(character(rng, it) for it in text) + '"'


def character(rng: random.Random, it: str) -> str:
    """A random encoding of a character: raw, short escape or full escape."""
    if it < " " or it in '"\\' or rng.random() < 0.2:
        if it in ESCAPES and rng.random() < 0.5:
            return ESCAPES[it]
        units = it.encode("utf-16-be")
        digits = [units[at:at + 2].hex() for at in range(0, len(units), 2)]
        return "".join("\\u" + (part.upper() if rng.random() < 0.5 else part) for part in digits)
    return it


def value(rng: random.Random, depth: int) -> str:
    kind = rng.randrange(4 if depth == 0 else 7)
    blank = rng.choice(["", "", " ", "\t "])
    if kind == 0:
        return rng.choice(["null", "true", "false"])
    if kind in (1, 2):
        return number(rng)
    if kind == 3:
        return string(rng)
    if kind == 4:
        return "[" + blank + f"{blank},{blank}".join(value(rng, depth - 1) for _ in range(rng.randrange(5))) + "]"
    return document(rng, depth)


def document(rng: random.Random, depth: int = 4) -> str:
    blank = rng.choice(["", "", " "])
    members = {}
    for _ in range(rng.randrange(7)):
        name = string(rng)
        members[json.loads(name)] = f"{name}{blank}:{blank}{value(rng, depth - 1)}"
    return "{" + f"{blank},{blank}".join(members.values()) + "}"


def dumped(parsed) -> str:
    return json.dumps(parsed, sort_keys=True, separators=(",", ":"))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--binary", default=str(HERE.parents[1] / "target/debug/examples/canonical_lines"))
    parser.add_argument("--node", default="node")
    wanted = parser.parse_args()

    rng = random.Random(wanted.seed)
    documents = [document(rng) for _ in range(wanted.documents)]
    lines = "".join(it + "\n" for it in documents).encode()
    written = subprocess.run([wanted.binary], input=lines, stdout=subprocess.PIPE, check=True).stdout
    pairs = [line.decode().split("\t") for line in written.split(b"\n")[:-1]]
    if len(pairs) != len(documents):
        print(f"FAILED: {len(pairs)} lines for {len(documents)} documents")
        return 1

    failed = 0
    for text, (ascii_text, _) in zip(documents, pairs):
        try:
            agrees = ascii_text == dumped(json.loads(text, parse_float=sent_number)) == dumped(json.loads(ascii_text))
        except ValueError:
            agrees = False
        if not agrees:
            failed += 1
            if failed <= SHOWN:
                print(f"FAILED in Python\n  document {text!r}\n  ascii    {ascii_text!r}")
    print(f"Python: {len(documents) - failed} passed, {failed} failed (seed {wanted.seed})")

    triples = "".join(json.dumps([text, utf8]) + "\n" for text, (_, utf8) in zip(documents, pairs))
    node = subprocess.run([wanted.node, str(HERE / "agree.mjs")], input=triples.encode())
    return 1 if failed or node.returncode or not documents else 0


if __name__ == "__main__":
    sys.exit(main())
