"""A way to the real program that loses an answer: the request is heard there, and nothing comes back."""

from __future__ import annotations

from http.client import HTTPConnection
from urllib.parse import urlsplit

from peer import Cut, Move, Peer, Reply, Request

# Headers of one connection, and headers that the sender sets again.
OWN = {"host", "connection", "content-length", "transfer-encoding"}


def losing(peer: Peer, url: str, answers: int) -> str:
    """Has the peer pass everything on to `url`, and lose the first so many answers. Returns where it is."""
    where = urlsplit(url).netloc
    lost = 0

    def pass_on(request: Request) -> Reply | Cut:
        nonlocal lost
        connection = HTTPConnection(where, timeout=30)
        headers = {name: value for name, value in request.headers.items() if name not in OWN}
        connection.request(request.method, request.path, request.body or None, headers)
        answer = connection.getresponse()
        told = {name: value for name, value in answer.getheaders() if name.lower() not in OWN}
        reply = Reply(answer.status, answer.read(), told)
        connection.close()
        if lost < answers:
            lost += 1
            return Cut()
        return reply

    move: Move = pass_on
    peer.will(move)
    return peer.url
