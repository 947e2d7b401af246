#!/usr/bin/env python3
"""Runs schemathesis on a published document, and fails on an answer that it does not describe.

The service runs on an empty directory, on loopback only, with a backend that answers at once. Client calls use the key of an
account with a deposit, operator calls the operator's token. Generated URLs are rewritten to this machine before they are sent
(see loopback.py), so that no request leaves it.

Usage: fuzz.py SCHEMATHESIS callers|operator
"""

import base64
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "compat"))
from served import TOKEN, address, admin, png, program  # noqa: E402

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
    "ensure_resource_availability",
]
# Of the operator's calls. A client's DELETE cancels a job or a batch, which can still be read.
AFTER_DELETION = "use_after_free"
# A test delivery would go to any registered URL.
NO_DELIVERIES = ["--exclude-operation-id", "testWebhook"]
# Examples per call and kind of test, and the random seed, so that each run makes the same calls.
EXAMPLES, SEED = 25, 20261121
# Several times the seconds that a document takes on a busy machine with two cores.
PATIENCE = 900


IMAGE = base64.b64encode(png(1024, 1024)).decode()


class Painter(http.server.BaseHTTPRequestHandler):
    """A backend with OpenAI's interface and one image."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.dumps({"data": [{"b64_json": IMAGE}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def settings(directory: str, painter: str) -> dict[str, str]:
    tiers = {f"TINTYPE__TIERS__{tier}__BACKENDS": '[{ name = "stub" }]' for tier in ("FAST", "QUALITY", "PRO")}
    return {
        "PATH": os.environ["PATH"],
        "TINTYPE__SERVER__LISTEN": "127.0.0.1:0",
        "TINTYPE__STORAGE__DATA_DIR": f"{directory}/data",
        "TINTYPE__BACKENDS__STUB": f'{{ kind = "openai", base_url = "{painter}/v1", concurrency = 4 }}',
        "TINTYPE_ADMIN_TOKEN": TOKEN,
        **tiers,
    }


def account(url: str) -> str:
    """Creates an account, deposits money, and returns a key."""
    made = admin(url, "/accounts", {"name": "fuzz"})["account_id"]
    admin(url, f"/accounts/{made}/deposits", {"amount": "1000000.00", "reference": "for fuzzing"})
    return admin(url, f"/accounts/{made}/keys", {"name": "fuzz"})["api_key"]


def fuzz(schemathesis: str, url: str, document: str, secret: str, checks: list[str], *more: str) -> int:
    command = [
        schemathesis, "run", f"{url}{document}", "--url", url, "-H", f"Authorization: Bearer {secret}",
        "--checks", ",".join(checks), "--phases", "examples,coverage,fuzzing,stateful", "--max-examples", str(EXAMPLES),
        "--seed", str(SEED), "--workers", "1", "--request-timeout", "70", "--continue-on-failure", "--no-shrink", *more,
    ]  # fmt: skip
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "loopback", "PYTHONPATH": str(HERE), "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as empty:
        return subprocess.run(command, env=environment, cwd=empty, timeout=PATIENCE).returncode


def main() -> int:
    schemathesis, document = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2]
    if document not in ("callers", "operator"):
        raise SystemExit(f"unknown document {document}")
    painter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Painter)
    threading.Thread(target=painter.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as directory:
        place = f"http://127.0.0.1:{painter.server_port}"
        server = subprocess.Popen(
            [program(), "serve"], cwd=directory, env=settings(directory, place), stdout=subprocess.PIPE, text=True
        )
        try:
            url = address(server.stdout)
            if document == "callers":
                return fuzz(schemathesis, url, "/api/v1/openapi.json", account(url), CHECKS)
            return fuzz(schemathesis, url, "/admin/v1/openapi.json", TOKEN, [*CHECKS, AFTER_DELETION], *NO_DELIVERIES)
        finally:
            server.terminate()
            server.communicate(timeout=60)


if __name__ == "__main__":
    sys.exit(main())
