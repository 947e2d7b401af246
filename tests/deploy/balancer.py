"""Runs HAProxy with its example configurations. Checks that its own answers have the error format of the called interface, and that a
node learns of a caller that disconnects. Loopback only.

Needs HAProxy.
"""

import contextlib
import http.client
import http.server
import json
import pathlib
import random
import re
import socket
import subprocess
import tempfile
import threading
import time

PROXY = pathlib.Path(__file__).resolve().parents[2] / "deploy/proxy"
TIMEOUT = 20
GOOGLES_KEY = {"x-goog-api-key": "k"}
# Path, headers, and the format of an error.
CALLS = [
    ("/api/v1/jobs", {}, "native"),
    ("/v2", {}, "native"),
    ("/v1/images/generations", {}, "openai"),
    ("/v1/models/fast:generateContent", GOOGLES_KEY, "google"),
    ("/v1/models/fast:generateContent?key=k", {}, "google"),
    ("/v1beta/models", {}, "google"),
    ("/v1alpha/models", {}, "google"),
    ("/upload/v1beta/files", {}, "google"),
]
# Title and code of the native interface, OpenAI's code and Google's status.
WORDS = {
    502: ("Internal error", "internal", None, "INTERNAL"),
    503: ("Overloaded", "overloaded", "unavailable", "UNAVAILABLE"),
    504: ("Internal error", "internal", "timeout", "DEADLINE_EXCEEDED"),
}


WAITING_CALL = "/v1/models/fast:generateContent"


class Node(http.server.BaseHTTPRequestHandler):
    """A node that is ready, and breaks off each call or never answers it. It reports whether the caller of a waiting call disconnects."""

    hangs = threading.Event()
    ends = threading.Event()
    waits = threading.Event()
    disconnected = threading.Event()

    def do_GET(self):
        if self.path == "/readyz":
            self.send_response(200)
            self.end_headers()
            return
        if Node.hangs.is_set():
            Node.ends.wait(TIMEOUT)
        self.close_connection = True

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Node.waits.set()
        with contextlib.suppress(ConnectionResetError):
            assert self.connection.recv(1) == b""
        Node.disconnected.set()

    def log_message(self, *_):
        pass


def free_port():
    """A port below those that Linux gives to clients, so that no other process takes it before HAProxy listens."""
    for port in random.sample(range(20_000, 30_000), 1_000):
        with socket.socket() as taken:
            if taken.connect_ex(("127.0.0.1", port)):
                return port
    raise SystemExit("no port is free")


@contextlib.contextmanager
def balancer(name, node_port, server_timeout):
    """HAProxy in front of three nodes at one port. Yields its own port."""
    port = free_port()
    text = (PROXY / name).read_text()
    text = re.sub(r"^    bind .*$", f"    bind 127.0.0.1:{port}", text, flags=re.MULTILINE)
    text = re.sub(r"(server \w) \S+", rf"\1 127.0.0.1:{node_port}", text)
    text = re.sub(r" resolvers docker init-addr libc,none", "", text).split("\nresolvers docker")[0] + "\n"
    text = text.replace("timeout server 300s", f"timeout server {server_timeout}")
    with tempfile.NamedTemporaryFile("w", suffix=".cfg") as config:
        config.write(text)
        config.flush()
        process = subprocess.Popen(["haproxy", "-f", config.name], stderr=subprocess.DEVNULL)
        try:
            yield port
        finally:
            process.kill()
            process.wait()


def answer(port, path, headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def until_answered(port, status):
    """Waits until HAProxy listens and has seen the state of the nodes."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        with contextlib.suppress(ConnectionError):
            if answer(port, "/", {})[0] == status:
                return
        assert time.monotonic() < deadline, f"HAProxy does not answer {status}"
        time.sleep(0.02)


def check(port, status):
    until_answered(port, status)
    title, code, openai_code, google_status = WORDS[status]
    for path, headers, api in CALLS:
        found, fields, body = answer(port, path, headers)
        case = (path, headers, found, body)
        assert found == status, case
        assert fields["Retry-After"] == ("5" if status == 503 else "1") and fields["Cache-Control"] == "no-store", case
        body = json.loads(body)
        if api == "native":
            detail = body.pop("detail")
            expected = {"type": "about:blank", "title": title, "status": status, "code": code, "request_id": ""}
            media_type = "application/problem+json"
        else:
            body = body.pop("error")
            detail = body.pop("message")
            openai = {"type": "server_error", "param": None, "code": openai_code}
            expected = openai if api == "openai" else {"code": status, "status": google_status}
            media_type = "application/json"
        assert (body, fields["Content-Type"]) == (expected, media_type), case
        assert ("repeat the call with the same Idempotency-Key" in detail) == (status != 503), case


def check_disconnect(port):
    until_answered(port, 502)
    Node.waits.clear()
    Node.disconnected.clear()
    with socket.create_connection(("127.0.0.1", port)) as caller:
        caller.sendall(f"POST {WAITING_CALL} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        assert Node.waits.wait(TIMEOUT), "no node has received the call"
    assert Node.disconnected.wait(TIMEOUT), "the node does not learn that the caller has disconnected"


def main():
    nodes = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Node)
    threading.Thread(target=nodes.serve_forever, daemon=True).start()
    for name in ["haproxy.cfg", "haproxy.nodes.cfg"]:
        with balancer(name, free_port(), "500ms") as port:
            check(port, 503)
        with balancer(name, nodes.server_port, "500ms") as port:
            check(port, 502)
            Node.hangs.set()
            check(port, 504)
            Node.hangs.clear()
        with balancer(name, nodes.server_port, "300s") as port:
            check_disconnect(port)
        print(f"passed: {name}")
    Node.ends.set()
    nodes.shutdown()


if __name__ == "__main__":
    main()
