#!/usr/bin/env python3
"""Starts the real program on an empty directory, on loopback alone, and runs a command against it.

The command finds in its environment TINTYPE_URL; TINTYPE_KEY, a key with all rights; TINTYPE_KEY_FAST, which is scoped for the
model `fast`; TINTYPE_KEY_POOR, of an account without money; and TINTYPE_ADMIN_TOKEN. Exits with the command's status.

Usage: served.py COMMAND [ARGUMENT...]
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

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


def address(output) -> str:
    """What the program says when it is ready."""
    for line in output:
        if found := re.search(r"is ready at (http://127\.0\.0\.1:\d+)", line):
            return found[1]
    raise SystemExit("the program has ended before it was ready")


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        settings = {
            "PATH": os.environ["PATH"],
            "TINTYPE__SERVER__LISTEN": "127.0.0.1:0",
            "TINTYPE__STORAGE__DATA_DIR": f"{directory}/data",
            "TINTYPE_ADMIN_TOKEN": TOKEN,
        }
        server = subprocess.Popen(
            [program(), "serve"], cwd=directory, env=settings, stdout=subprocess.PIPE, text=True
        )
        try:
            url = address(server.stdout)
            environment = {
                **os.environ,
                "TINTYPE_URL": url,
                "TINTYPE_KEY": key(url, "100.00"),
                "TINTYPE_KEY_FAST": key(url, "100.00", models=["fast"]),
                "TINTYPE_KEY_POOR": key(url, "0.01"),
                "TINTYPE_ADMIN_TOKEN": TOKEN,
            }
            return subprocess.run(sys.argv[1:], env=environment, timeout=300).returncode
        finally:
            server.terminate()
            server.communicate(timeout=60)


if __name__ == "__main__":
    sys.exit(main())
