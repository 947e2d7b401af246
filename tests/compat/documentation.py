#!/usr/bin/env python3
"""Runs every program of docs/gemini.md and docs/openai.md unchanged against a running server (see served.py), and calls with each way of
docs/sdk.md to send a key.

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
import uuid

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PAGES = ["sdk.md", "gemini.md", "openai.md"]
PNG = b"\x89PNG"
START = {".jpg": b"\xff\xd8\xff"}
COMMANDS = {"python": [sys.executable, "program.py"], "js": ["node", "program.mjs"], "sh": ["bash", "-eu", "program.sh"]}
# Programs that send the key as a row of the table says. The service refuses a second prompt with the same key.
KEYED = {
    "google-genai for Python": """
import os, sys
from google import genai
from google.genai import errors, types
key = sys.argv[1]
client = genai.Client(api_key=os.environ["TINTYPE_KEY"], http_options=types.HttpOptions(base_url=os.environ["TINTYPE_URL"]))
make = lambda prompt: client.models.generate_content(model="fast", contents=prompt, ROW)
make("a fox")
try:
    make("a wolf")
except errors.ClientError as error:
    sys.exit("different request" not in str(error))
sys.exit("the key was not sent")
""",
    "interactions of google-genai for Python": """
import os, sys
from google import genai
from google.genai import types
key = sys.argv[1]
client = genai.Client(api_key=os.environ["TINTYPE_KEY"], http_options=types.HttpOptions(base_url=os.environ["TINTYPE_URL"]))
make = lambda prompt: client.interactions.create(model="fast", input=prompt, ROW)
make("a fox")
try:
    make("a wolf")
except Exception as error:
    sys.exit("different request" not in str(error))
sys.exit("the key was not sent")
""",
    "openai for Python": """
import os, sys, openai
key = sys.argv[1]
client = openai.OpenAI(base_url=os.environ["TINTYPE_URL"] + "/v1", api_key=os.environ["TINTYPE_KEY"])
make = lambda prompt: client.images.generate(model="fast", prompt=prompt, ROW)
make("a fox")
try:
    make("a wolf")
except openai.BadRequestError as error:
    sys.exit(error.code != "idempotency_key_reused")
sys.exit("the key was not sent")
""",
    "@google/genai for JavaScript": """
import { GoogleGenAI } from "@google/genai";
const key = process.argv[2];
const ai = new GoogleGenAI({ apiKey: process.env.TINTYPE_KEY, httpOptions: { baseUrl: process.env.TINTYPE_URL } });
const make = (contents) => ai.models.generateContent({ model: "fast", contents, ROW });
await make("a fox");
process.exit(await make("a wolf").then(() => 1, (error) => (error.message.includes("different request") ? 0 : 2)));
""",
    "interactions of @google/genai for JavaScript": """
import { GoogleGenAI } from "@google/genai";
const key = process.argv[2];
const ai = new GoogleGenAI({ apiKey: process.env.TINTYPE_KEY, httpOptions: { baseUrl: process.env.TINTYPE_URL } });
const make = (input) => ai.interactions.create({ model: "fast", input }, ROW);
await make("a fox");
process.exit(await make("a wolf").then(() => 1, (error) => (error.message.includes("different request") ? 0 : 2)));
""",
    "openai for JavaScript": """
import OpenAI from "openai";
const key = process.argv[2];
const client = new OpenAI({ baseURL: process.env.TINTYPE_URL + "/v1", apiKey: process.env.TINTYPE_KEY });
const make = (prompt) => client.images.generate({ model: "fast", prompt }, ROW);
await make("a fox");
process.exit(await make("a wolf").then(() => 1, (error) => (error.code === "idempotency_key_reused" ? 0 : 2)));
""",
}


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


def sends_key(language: str, text: str, packages: str) -> bool:
    """Does this program send its idempotency key?"""
    with tempfile.TemporaryDirectory(dir=packages) as name:
        command = COMMANDS[language]
        pathlib.Path(name, command[-1]).write_text(text, encoding="utf-8")
        return subprocess.run([*command, str(uuid.uuid4())], cwd=name, timeout=120).returncode == 0


passed, failed = 0, 0
texts = {page: (DOCS / page).read_text(encoding="utf-8") for page in PAGES}
for page, content in texts.items():
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", content, re.DOTALL | re.MULTILINE)
    for number, (language, text) in enumerate(blocks):
        if "export TINTYPE_KEY" in text:
            continue
        if run(language, text, sys.argv[1]):
            passed += 1
        else:
            failed += 1
            print(f"FAILED program {number + 1} of docs/{page}, in {language}")
for sdk, program in KEYED.items():
    row = re.search(rf"^\| {sdk} \| `([^`]+)`", texts["sdk.md"], re.MULTILINE)
    if row and sends_key("python" if "Python" in sdk else "js", program.replace("ROW", row[1]), sys.argv[1]):
        passed += 1
    else:
        failed += 1
        print(f"FAILED the idempotency key of {sdk} in docs/sdk.md")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or passed < 5 else 0)
