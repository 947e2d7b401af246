"""Sends calls and sleeps between them, for blocking programs. The flows make all decisions."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TypeVar

import httpx

from . import _arguments, _flows, _wire
from ._calls import Call
from ._events import SILENCE, Follower
from ._failures import error_of, is_image, no_image
from ._flows import Clock, Deadline, Flow, Policy, Send
from ._retry import Outcome
from ._settings import CONNECTIONS, Settings, answer_of, fault_of, is_stream, late, replacing
from .types import JobEvent, Page

T = TypeVar("T")


class Transport:
    """The connection to one service."""

    def __init__(self, settings: Settings, http: httpx.Client | None) -> None:
        self.settings = settings
        _arguments.http_client(http, httpx.Client)
        self.http = http or httpx.Client(limits=CONNECTIONS)
        self.sleep: Callable[[float], None] = time.sleep
        self.clock: Clock = time.monotonic
        self._owns_http = http is None

    @property
    def policy(self) -> Policy:
        """What flows need."""
        return Policy(max_retries=self.settings.max_retries, clock=self.clock)

    def with_settings(self, settings: Settings) -> Transport:
        """A transport that shares the connections of this one, and does not close them."""
        other = Transport(settings, self.http)
        other.sleep, other.clock = self.sleep, self.clock
        return other

    def close(self) -> None:
        """Closes the connections, unless the HTTP client is the caller's."""
        if self._owns_http:
            self.http.close()

    def fetch(self, call: Call, read: Callable[[_wire.Json], T]) -> T:
        """The typed answer of a call."""
        return self.run(_flows.fetch(call, self.policy, read))

    def run(self, flow: Flow[T]) -> T:
        """Runs a flow."""
        try:
            step = next(flow)
            while True:
                if isinstance(step, Send):
                    step = flow.send(self._send(step.call))
                else:
                    self.sleep(step.seconds)
                    step = next(flow)
        except StopIteration as end:
            value: T = end.value
            return value

    def _send(self, call: Call) -> Outcome:
        deadline = Deadline.within(call.limit, self.clock)
        try:
            request = self.settings.request(self.http, call)
            response = self.http.send(request, stream=True, follow_redirects=False)
            try:
                if call.save_to is None or not is_image(response.status_code, response.headers):
                    return answer_of(response, b"".join(_before(deadline, response.iter_bytes())))
                with replacing(call.save_to) as file:
                    for chunk in response.iter_bytes():
                        file.write(chunk)
                    is_saved = file.tell() > 0
                return answer_of(response, b"", is_saved)
            finally:
                response.close()
        except httpx.RequestError as error:
            return fault_of(error)

    @contextmanager
    def open(self, call: Call) -> Iterator[httpx.Response]:
        """An image with an unread body. Sends the call once."""
        request = self.settings.request(self.http, call)
        try:
            response = self.http.send(request, stream=True, follow_redirects=False)
            try:
                if not response.is_success:
                    raise error_of(answer_of(response, response.read()), call, 1)
                if not is_image(response.status_code, response.headers):
                    raise no_image(call, response.status_code, response.headers)
                yield response
            finally:
                response.close()
        except httpx.RequestError as error:
            # The caller's block may raise the error of another request.
            if getattr(error, "_request", None) is not request:
                raise
            raise error_of(fault_of(error), call, 1) from error

    def follow(self, follower: Follower) -> Generator[JobEvent, None, None]:
        """Follows a job to its end."""
        while True:
            outcome: Outcome | None = None
            try:
                request = self.settings.request(self.http, follower.call(), SILENCE)
                response = self.http.send(request, stream=True, follow_redirects=False)
                try:
                    if is_stream(response):
                        for chunk in response.iter_raw():
                            yield from follower.feed(chunk)
                            if follower.is_over:
                                return
                    else:
                        outcome = answer_of(response, response.read())
                finally:
                    response.close()
            except httpx.RequestError as error:
                outcome = fault_of(error)
            pause = follower.ended(outcome)
            if pause is None:
                return
            self.sleep(pause)


def _before(deadline: Deadline, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same chunks. httpx limits each read, but not their sum."""
    for chunk in chunks:
        if deadline.left() == 0:
            raise late()
        yield chunk


def every_page(fetch: Callable[[str | None], Page[T]]) -> Generator[T, None, None]:
    """All entries of a list, page by page. `fetch` takes the cursor of the page."""
    cursor = None
    while True:
        page = fetch(cursor)
        yield from page.data
        cursor = page.next_cursor
        if cursor is None:
            return
