"""Sends calls and sleeps between them, for asyncio and trio. The flows make all decisions."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
import anyio.to_thread
import httpx

from . import _arguments, _flows, _wire
from ._calls import Call
from ._events import SILENCE, Follower
from ._failures import error_of, is_image, no_image
from ._flows import Clock, Flow, Policy, Send
from ._retry import Answer, Outcome
from ._settings import CONNECTIONS, Settings, answer_of, fault_of, is_stream, late, replacing
from .types import JobEvent, Page

T = TypeVar("T")


class AsyncTransport:
    """The connection to one service."""

    def __init__(self, settings: Settings, http: httpx.AsyncClient | None) -> None:
        self.settings = settings
        _arguments.http_client(http, httpx.AsyncClient)
        self.http = http or httpx.AsyncClient(limits=CONNECTIONS)
        self.sleep: Callable[[float], Awaitable[None]] = anyio.sleep
        self.clock: Clock = time.monotonic
        self._owns_http = http is None

    @property
    def policy(self) -> Policy:
        """What flows need."""
        return Policy(max_retries=self.settings.max_retries, clock=self.clock)

    def with_settings(self, settings: Settings) -> AsyncTransport:
        """A transport that shares the connections of this one, and does not close them."""
        other = AsyncTransport(settings, self.http)
        other.sleep, other.clock = self.sleep, self.clock
        return other

    async def close(self) -> None:
        """Closes the connections, unless the HTTP client is the caller's."""
        if self._owns_http:
            await self.http.aclose()

    async def fetch(self, call: Call, read: Callable[[_wire.Json], T]) -> T:
        """The typed answer of a call."""
        return await self.run(_flows.fetch(call, self.policy, read))

    async def run(self, flow: Flow[T]) -> T:
        """Runs a flow."""
        try:
            step = next(flow)
            while True:
                if isinstance(step, Send):
                    step = flow.send(await self._send(step.call))
                else:
                    await self.sleep(step.seconds)
                    step = next(flow)
        except StopIteration as end:
            value: T = end.value
            return value

    async def _send(self, call: Call) -> Outcome:
        try:
            # httpx limits each read, but not their sum.
            with anyio.move_on_after(call.limit):
                return await self._answer(call)
        except httpx.RequestError as error:
            return fault_of(error)
        return fault_of(late())

    async def _answer(self, call: Call) -> Answer:
        request = self.settings.request(self.http, call)
        response = await self.http.send(request, stream=True, follow_redirects=False)
        try:
            if call.save_to is None or not is_image(response.status_code, response.headers):
                return answer_of(response, await response.aread())
            with replacing(call.save_to) as file:
                async for chunk in response.aiter_bytes():
                    await anyio.to_thread.run_sync(file.write, chunk)
                is_saved = file.tell() > 0
            return answer_of(response, b"", is_saved)
        finally:
            await response.aclose()

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncIterator[httpx.Response]:
        """An image with an unread body. Sends the call once."""
        request = self.settings.request(self.http, call)
        try:
            response = await self.http.send(request, stream=True, follow_redirects=False)
            try:
                if not response.is_success:
                    raise error_of(answer_of(response, await response.aread()), call, 1)
                if not is_image(response.status_code, response.headers):
                    raise no_image(call, response.status_code, response.headers)
                yield response
            finally:
                await response.aclose()
        except httpx.RequestError as error:
            # The caller's block may raise the error of another request.
            if getattr(error, "_request", None) is not request:
                raise
            raise error_of(fault_of(error), call, 1) from error

    async def follow(self, follower: Follower) -> AsyncGenerator[JobEvent, None]:
        """Follows a job to its end."""
        while True:
            outcome: Outcome | None = None
            try:
                request = self.settings.request(self.http, follower.call(), SILENCE)
                response = await self.http.send(request, stream=True, follow_redirects=False)
                try:
                    if is_stream(response):
                        async for chunk in response.aiter_raw():
                            for event in follower.feed(chunk):
                                yield event
                            if follower.is_over:
                                return
                    else:
                        outcome = answer_of(response, await response.aread())
                finally:
                    await response.aclose()
            except httpx.RequestError as error:
                outcome = fault_of(error)
            pause = follower.ended(outcome)
            if pause is None:
                return
            await self.sleep(pause)


async def every_page(fetch: Callable[[str | None], Awaitable[Page[T]]]) -> AsyncGenerator[T, None]:
    """All entries of a list, page by page. `fetch` takes the cursor of the page."""
    cursor = None
    while True:
        page = await fetch(cursor)
        for entry in page.data:
            yield entry
        cursor = page.next_cursor
        if cursor is None:
            return
