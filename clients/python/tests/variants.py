"""The two clients under one form, so that one test holds for both: the asynchronous one is driven from outside of its loop."""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any, Self, cast

from anyio.from_thread import BlockingPortal, start_blocking_portal

from tintype import AsyncTintype, Tintype


class Variant(AbstractContextManager["Variant"]):
    """Makes clients that do not sleep, but note in `pauses` for how long they would, and whose clock goes on by as much."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def client(self, **options: Any) -> Tintype:
        client = self._stack.enter_context(Tintype(**options))
        client._transport.sleep = self.pauses.append
        client._transport.clock = self.clock
        return client

    def clock(self) -> float:
        return time.monotonic() + sum(self.pauses)


class OnLoop(Variant):
    """The same with the asynchronous client."""

    def __init__(self, loop: str) -> None:
        super().__init__()
        self._portal = self._stack.enter_context(start_blocking_portal(loop))

    def client(self, **options: Any) -> Tintype:
        client = self._portal.call(partial(AsyncTintype, **options))

        async def note(seconds: float) -> None:
            self.pauses.append(seconds)

        client._transport.sleep = note
        client._transport.clock = self.clock
        self._stack.callback(self._portal.call, client.close)
        return cast(Tintype, Blocking(client, self._portal))


class Blocking:
    """An object whose coroutines are awaited, and whose asynchronous iterators are stepped through, on a loop elsewhere."""

    def __init__(self, inner: object, portal: BlockingPortal) -> None:
        self._inner = inner
        self._portal = portal

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if inspect.iscoroutinefunction(value):
            return lambda *args, **named: self._portal.call(partial(value, *args, **named))
        if inspect.ismethod(value):
            return partial(self._iterate_or_wrap, value)
        if type(value).__name__.startswith("Async"):
            return Blocking(value, self._portal)
        return value

    def _iterate_or_wrap(self, method: Callable[..., Any], *args: Any, **named: Any) -> Any:
        made = method(*args, **named)
        return self._steps(made) if hasattr(made, "__anext__") else Blocking(made, self._portal)

    def _steps(self, iterator: AsyncIterator[Any]) -> Iterator[Any]:
        while True:
            try:
                yield self._portal.call(iterator.__anext__)
            except StopAsyncIteration:
                return


VARIANTS: dict[str, Callable[[], Variant]] = {
    "sync": Variant,
    "asyncio": partial(OnLoop, "asyncio"),
    "trio": partial(OnLoop, "trio"),
}
