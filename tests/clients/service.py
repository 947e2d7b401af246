#!/usr/bin/env python3
"""Starts the real program for the tests of the client packages, and runs a command against it.

This script is also the backend of the service. It can hold images, so that a test can observe a queued or processing job. In
addition to the variables of tests/compat/served.py, the command gets the URL of the backend in TINTYPE_TEST_PEER:

    PUT /gate {"held": true}    holds every image from now on, at a progress of 0.42; false releases them
    GET /picture.png            an image, for input images

The backend rejects a prompt that begins with "refuse", so that its job fails.

Usage: service.py COMMAND [ARGUMENT...]
"""

import base64
import http.server
import json
import pathlib
import subprocess
import sys
import threading

# The import below leaves no files in the source tree.
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "compat"))

from served import png, serving  # noqa: E402

PROGRESS = 0.42
# Maximum seconds that an image is held.
PATIENCE = 60


class Gate:
    """Holds and releases images."""

    def __init__(self):
        self.open = threading.Event()
        self.open.set()

    def hold(self, held: bool) -> None:
        (self.open.clear if held else self.open.set)()


class Peer(http.server.BaseHTTPRequestHandler):
    """The backend, with AUTOMATIC1111's interface, and the origin of input images."""

    protocol_version = "HTTP/1.1"
    gate = Gate()
    # The running task: the service sends one at a time to this backend.
    active = None

    def do_GET(self) -> None:
        if self.path == "/picture.png":
            self.answer(200, png(300, 200), "image/png")
        elif self.path.startswith("/sdapi/v1/progress"):
            self.answer_json({"progress": PROGRESS, "state": {"interrupted": False, "skipped": False}})
        else:
            self.answer_json({"detail": "Not Found"}, 404)

    def do_POST(self) -> None:
        body = self.read()
        if self.path in ("/sdapi/v1/txt2img", "/sdapi/v1/img2img"):
            self.make(body)
        elif self.path == "/internal/progress":
            active = Peer.active == body["id_task"]
            self.answer_json({"active": active, "completed": not active, "progress": PROGRESS if active else None})
        else:
            self.answer_json({})

    def do_PUT(self) -> None:
        Peer.gate.hold(self.read()["held"])
        self.answer_json({})

    def make(self, body: dict) -> None:
        if body["prompt"].startswith("refuse"):
            return self.answer_json({"detail": "refused"}, 400)
        Peer.active = body["force_task_id"]
        Peer.gate.open.wait(PATIENCE)
        Peer.active = None
        picture = base64.b64encode(png(body["width"], body["height"])).decode()
        return self.answer_json({"images": [picture], "parameters": {}, "info": "{}"})

    def read(self) -> dict:
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")

    def answer_json(self, value: dict, status: int = 200) -> None:
        self.answer(status, json.dumps(value).encode(), "application/json")

    def answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        """Logs nothing."""


def main() -> int:
    peer = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    peer.daemon_threads = True
    threading.Thread(target=peer.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{peer.server_address[1]}"
    tiers = {f"TINTYPE__TIERS__{tier}__BACKENDS": '[{ name = "gate" }]' for tier in ("FAST", "QUALITY", "PRO")}
    settings = {
        # A stalled disk of a busy machine must not stop the service here.
        "TINTYPE__STORAGE__COMMIT_TIMEOUT_SECONDS": "120",
        # The tests reject images on purpose, so warnings are noise.
        "TINTYPE__LOG__FILTER": "error",
        "TINTYPE__EGRESS__ALLOW": '["127.0.0.0/8"]',
        "TINTYPE__BACKENDS__GATE__KIND": "sdapi",
        "TINTYPE__BACKENDS__GATE__BASE_URL": url,
        "TINTYPE__BACKENDS__GATE__CONCURRENCY": "1",
        "TINTYPE__BACKENDS__GATE__RETRIES": "0",
        **tiers,
    }
    with serving(**settings) as environment:
        environment["TINTYPE_TEST_PEER"] = url
        return subprocess.run(sys.argv[1:], env=environment, timeout=300).returncode


if __name__ == "__main__":
    sys.exit(main())
