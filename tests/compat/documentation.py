#!/usr/bin/env python3
"""Runs every program of docs/sdk.md unchanged against a running server (see served.py).

JavaScript finds its packages beside the directory that is named; each program runs in one of its own and must leave an image, or
an answer that holds one.

Usage: documentation.py DIRECTORY_OF_NODE_MODULES
"""

import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/sdk.md"
PNG = b"\x89PNG"
START = {".jpg": b"\xff\xd8\xff"}
COMMANDS = {"python": [sys.executable, "program.py"], "js": ["node", "program.mjs"], "sh": ["bash", "-eu", "program.sh"]}


def image(file: pathlib.Path) -> bytes:
    """What a program has saved."""
    if file.suffix in (".png", ".jpg"):
        return file.read_bytes()
    answer = json.loads(file.read_text(encoding="utf-8"))
    return base64.b64decode(answer["candidates"][0]["content"]["parts"][0]["inlineData"]["data"])


def run(language: str, text: str, packages: str) -> bool:
    """Does it run, and leave a PNG in each file that it writes, or a JPEG if the name says so?"""
    files = set(re.findall(r'(?:open\(|save\(|writeFileSync\(|>)"?(\w+\.(?:png|jpg|json))\b', text))
    with tempfile.TemporaryDirectory(dir=packages) as name:
        directory = pathlib.Path(name)
        command = COMMANDS[language]
        (directory / command[-1]).write_text(text, encoding="utf-8")
        ended = subprocess.run(command, cwd=directory, timeout=120)
        # Only the program knows the names of some files.
        files |= {file.name for file in directory.glob("*.png")}
        images = [(file, image(directory / file)) for file in files if ended.returncode == 0]
        return bool(images) and all(it.startswith(START.get(pathlib.Path(file).suffix, PNG)) for file, it in images)


passed, failed = 0, 0
blocks = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
for number, (language, text) in enumerate(blocks):
    if "export TINTYPE_KEY" in text:
        continue
    if run(language, text, sys.argv[1]):
        passed += 1
    else:
        failed += 1
        print(f"FAILED program {number + 1} of docs/sdk.md, in {language}")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or passed < 5 else 0)
