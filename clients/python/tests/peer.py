"""A server that answers as it is told: with an error, with nothing at all, or not before it is let go."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

JOB_ID = "01a1fa95-0000-7000-8000-000000000001"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """An answer; `cut` ends the connection after the body, which may be less than was promised."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


class Silence:
    """No answer at all: the connection stays open until the test is over."""


class Cut:
    """No answer at all: the connection is closed once the request has been read."""


Move = Reply | Silence | Cut | Callable[[Request], Reply | Cut]


def told(value: object, status: int = 200, **headers: str) -> Reply:
    """An answer in JSON."""
    names = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json", **names})


def problem(status: int, code: str, **headers: str) -> Reply:
    """An error as the service tells it."""
    body = {"type": "about:blank", "title": "Title", "status": status, "detail": "why", "code": code, "request_id": "r-1"}
    reply = told(body, status, **headers)
    return Reply(status, reply.body, {**reply.headers, "Content-Type": "application/problem+json"})


def created(job_id: str = JOB_ID) -> Reply:
    return told({"job_id": job_id, "status": "queued", "status_url": f"/api/v1/jobs/{job_id}"}, 202)


def job(status: str = "done", image_url: str | None = None, error: str | None = None) -> dict[str, Any]:
    """A job as the lookup tells it."""
    moment = "2026-11-20T20:10:58.145Z"
    return {
        "job_id": JOB_ID,
        "status": status,
        "created_at": moment,
        "started_at": None if status == "queued" else moment,
        "finished_at": moment if status in ("done", "failed") else None,
        "result": None if image_url is None else {"image_url": image_url},
        "error": error,
        "queue_position": 1 if status == "queued" else None,
        "estimated_start_at": None,
    }


class Server(ThreadingHTTPServer):
    """Takes hundreds of connections at once."""

    daemon_threads = True
    request_queue_size = 1024


class Peer(AbstractContextManager["Peer"]):
    """The server. It makes one move for each request, and the last one for all that come after."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        # Goes up by one with each request.
        self.heard = threading.Semaphore(0)
        self._moves: list[Move] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        peer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                peer._serve(self, Request(self.command, self.path, headers, self.rfile.read(length)))

            do_GET = do_POST = do_DELETE = handle_any  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Logs nothing."""

        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def will(self, *moves: Move) -> None:
        """Sets what it does, request by request."""
        self._moves = list(moves)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, handler: BaseHTTPRequestHandler, request: Request) -> None:
        with self._lock:
            self.requests.append(request)
            self.heard.release()
            move = self._moves.pop(0) if len(self._moves) > 1 else self._moves[0]
        handler.close_connection = True
        if callable(move):
            move = move(request)
        if isinstance(move, Silence):
            self._over.wait(60)
        elif isinstance(move, Cut):
            handler.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._send(handler, move)

    @staticmethod
    def _send(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        handler.send_response(reply.status)
        headers = {"Content-Length": str(len(reply.body)), "Connection": "close", **reply.headers}
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(reply.body)
        handler.wfile.flush()
        if reply.cut:
            handler.connection.shutdown(socket.SHUT_RDWR)
