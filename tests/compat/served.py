#!/usr/bin/env python3
"""Starts the real program with an empty data directory, on loopback only, and runs a command against it.

The command finds in its environment TINTYPE_URL; TINTYPE_KEY, a key with all rights; TINTYPE_KEY_FAST, which is scoped for the
model `fast`; TINTYPE_KEY_POOR, of an account without money; and TINTYPE_ADMIN_TOKEN. TINTYPE_FRAIL_URL and TINTYPE_FRAIL_KEY are
of a second server, which takes one job at a time and whose backend for `fast` does as the prompt says: `garbage`, or `slow`. Its
images have 64 pixels per side, and 32 if they are made of others.
Exits with the command's status.

Usage: served.py COMMAND [ARGUMENT...]
"""

import base64
import contextlib
import http.server
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = "the-admin-token-of-the-sdk-tests-0123456789"


def program() -> str:
    if built := os.environ.get("TINTYPE_BIN"):
        return built
    subprocess.run(["cargo", "build", "-q", "--bin", "tintype"], cwd=ROOT, check=True)
    return str(pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/tintype")


def admin(url: str, path: str, body: dict) -> dict:
    """An operator's call."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/admin/v1{path}", json.dumps(body).encode(), headers, method="POST")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def key(url: str, balance: str, **shape) -> str:
    """A key of a fresh account."""
    account = admin(url, "/accounts", {"name": "sdk", "balance": balance})["account_id"]
    return admin(url, f"/accounts/{account}/keys", {"name": "sdk", **shape})["api_key"]


def png(width: int, height: int) -> bytes:
    """A grey ramp."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\0" + bytes(at * 255 // width for at in range(width))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(row * height, 1)) + chunk(b"IEND", b"")


class Frail(http.server.BaseHTTPRequestHandler):
    """A backend that speaks OpenAI's Images API, and does as the prompt says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_edit = self.headers["Content-Type"].startswith("multipart/")
        prompt = "" if is_edit else json.loads(body)["prompt"]
        if "slow" in prompt:
            # Longer than the keep-alive interval of a stream.
            time.sleep(12)
        side = 32 if is_edit else 64
        image = b"no image" if "garbage" in prompt else png(side, side)
        answer = json.dumps({"created": 0, "data": [{"b64_json": base64.b64encode(image).decode()}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def address(output) -> str:
    """What the program says when it is ready."""
    for line in output:
        if found := re.search(r"is ready at (http://127\.0\.0\.1:\d+)", line):
            return found[1]
    raise SystemExit("the program has ended before it was ready")


@contextlib.contextmanager
def serving(**extra: str):
    """The environment of a command, while the program runs. `extra` are settings of its own."""
    with tempfile.TemporaryDirectory() as directory:
        settings = {
            "PATH": os.environ["PATH"],
            "TINTYPE__SERVER__LISTEN": "127.0.0.1:0",
            "TINTYPE__STORAGE__DATA_DIR": f"{directory}/data",
            "TINTYPE_ADMIN_TOKEN": TOKEN,
            **extra,
        }
        server = subprocess.Popen(
            [program(), "serve"], cwd=directory, env=settings, stdout=subprocess.PIPE, text=True
        )
        try:
            url = address(server.stdout)
            yield {
                **os.environ,
                "TINTYPE_URL": url,
                "TINTYPE_KEY": key(url, "100.00"),
                "TINTYPE_KEY_FAST": key(url, "100.00", models=["fast"]),
                "TINTYPE_KEY_POOR": key(url, "0.01"),
                "TINTYPE_ADMIN_TOKEN": TOKEN,
            }
        finally:
            server.terminate()
            server.communicate(timeout=60)


def main() -> int:
    backend = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Frail)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    told = {
        "TINTYPE__BACKENDS__FRAIL": f'{{ kind = "openai", base_url = "http://127.0.0.1:{backend.server_port}/v1", retries = 0 }}',
        "TINTYPE__TIERS__FAST__BACKENDS": '[{ name = "frail" }]',
        "TINTYPE__JOBS__MAX_LIVE": "1",
    }
    with serving(TINTYPE__EGRESS__ALLOW='["127.0.0.0/8"]') as environment, serving(**told) as frail:
        environment["TINTYPE_FRAIL_URL"] = frail["TINTYPE_URL"]
        environment["TINTYPE_FRAIL_KEY"] = frail["TINTYPE_KEY"]
        return subprocess.run(sys.argv[1:], env=environment, timeout=300).returncode


if __name__ == "__main__":
    sys.exit(main())
