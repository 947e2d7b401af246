"""Sends calls and sleeps between them, for programs that block: what flows ask for is done here, and nothing is decided."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import httpx

from ._calls import Call
from ._events import SILENCE, Listening
from ._flows import Clock, Flow, Send
from ._retry import Outcome
from ._settings import CONNECTIONS, Settings, answer_of, fault_of, is_stream, taking_the_place_of
from .types import JobEvent

T = TypeVar("T")


class Line:
    """The way to one service."""

    def __init__(self, settings: Settings, http: httpx.Client | None) -> None:
        self.settings = settings
        self.http = http or httpx.Client(limits=CONNECTIONS)
        self.sleep: Callable[[float], None] = time.sleep
        self.clock: Clock = time.monotonic
        self._owns_http = http is None

    @property
    def repeats(self) -> int:
        """How often a call may be sent again."""
        return self.settings.max_retries

    def with_options(self, timeout: float | None, max_retries: int | None) -> Line:
        """The same way with other patience. Leaves the connections to this one."""
        settings = replace(
            self.settings,
            timeout=self.settings.timeout if timeout is None else timeout,
            max_retries=self.repeats if max_retries is None else max_retries,
        )
        other = Line(settings, self.http)
        other.sleep, other.clock = self.sleep, self.clock
        return other

    def close(self) -> None:
        """Closes the connections, unless they are somebody else's."""
        if self._owns_http:
            self.http.close()

    def run(self, flow: Flow[T]) -> T:
        """Carries a flow out."""
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
        try:
            request = self.settings.request(self.http, call)
            response = self.http.send(request, stream=True, follow_redirects=False)
            try:
                if call.save_to is None or not response.is_success:
                    return answer_of(response, response.read())
                with taking_the_place_of(call.save_to) as file:
                    for chunk in response.iter_bytes():
                        file.write(chunk)
                return answer_of(response, b"", call.save_to)
            finally:
                response.close()
        except httpx.RequestError as error:
            return fault_of(error)

    def listen(self, listening: Listening) -> Iterator[JobEvent]:
        """Follows a job to its end."""
        while True:
            outcome: Outcome | None = None
            try:
                request = self.settings.request(self.http, listening.call(), SILENCE)
                response = self.http.send(request, stream=True, follow_redirects=False)
                try:
                    if is_stream(response):
                        for chunk in response.iter_raw():
                            yield from listening.hear(chunk)
                            if listening.is_over:
                                return
                    else:
                        outcome = answer_of(response, response.read())
                finally:
                    response.close()
            except httpx.RequestError as error:
                outcome = fault_of(error)
            pause = listening.ended(outcome)
            if pause is None:
                return
            self.sleep(pause)
