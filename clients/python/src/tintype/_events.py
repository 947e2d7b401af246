"""Server-sent events: parses a stream, and decides when to reopen one that ended early."""

from __future__ import annotations

import codecs
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import _calls, _retry, _wire
from ._calls import Call
from ._failures import about, error_of, unexpected
from ._flows import Deadline, Policy, log
from ._retry import Answer, Outcome
from .errors import ApiConnectionError, CallError
from .types import JobEvent, JobRef, StatusEvent

# The line ends of the format (HTML, section 9.2.5). `str.splitlines` splits at others too.
END_OF_LINE = re.compile(r"\r\n|\n|\r")
# Seconds of silence after which a stream counts as dead. The service sends a line every 15.
SILENCE = 45.0
# Seconds after which a stream that sends anything, even only comments, counts as healthy.
PROVEN = 20.0


@dataclass(slots=True)
class Message:
    """One event as the service sent it."""

    name: str = "message"
    data: str = ""
    id: str | None = None


@dataclass(slots=True)
class Reader:
    """Parses the bytes of a stream."""

    retry: float | None = None
    _decoder: codecs.IncrementalDecoder = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"))
    _rest: str = ""
    _name: str = ""
    _data: list[str] = field(default_factory=list)
    _id: str | None = None

    def feed(self, chunk: bytes) -> list[Message]:
        """The events that this chunk completes."""
        text = self._rest + self._decoder.decode(chunk)
        # The other half of a \r\n may follow.
        held = text.endswith("\r")
        lines = END_OF_LINE.split(text[:-1] if held else text)
        self._rest = lines.pop() + ("\r" if held else "")
        return [message for line in lines if (message := self._line(line)) is not None]

    def _line(self, line: str) -> Message | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._name = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if value.isascii() and value.isdigit():
                self.retry = int(value) / 1000
        return None

    def _dispatch(self) -> Message | None:
        name, data = self._name, self._data
        self._name, self._data = "", []
        if not data:
            return None
        return Message(name=name or "message", data="\n".join(data), id=self._id)


class Follower:
    """Follows one job over as many streams as needed."""

    def __init__(self, job: JobRef, policy: Policy) -> None:
        self._job = _calls.job_id_of(job)
        self._policy = policy
        self._reader = Reader()
        self._last_id: str | None = None
        self._retry = 2.0
        self._opened = policy.clock()
        self._reset_failures()
        self.is_over = False

    def call(self) -> Call:
        """The call that opens the next stream."""
        self._reader = Reader()
        self._opened = self._policy.clock()
        return _calls.events(self._job, self._last_id)

    def feed(self, chunk: bytes) -> Iterator[JobEvent]:
        """The events that this chunk completes."""
        if self._policy.clock() - self._opened >= PROVEN:
            # A job that waits for long has no events, and some proxies end each answer after a minute or two.
            self._reset_failures()
        for message in self._reader.feed(chunk):
            event = self._event(message)
            self._last_id = message.id or self._last_id
            if event is None:
                continue
            self.is_over = isinstance(event, StatusEvent) and event.job.is_over
            yield event
            # After the caller's own work, whose time does not count.
            self._reset_failures()
            if self.is_over:
                return
        if self._reader.retry is not None:
            self._retry = self._reader.retry

    def ended(self, outcome: Outcome | None) -> float | None:
        """The seconds before the next stream, after one that ended or failed; `None` if the job has ended.

        The outcome `None` is a stream that ended before the job did, as streams do when the service restarts.
        """
        self._failures += 1
        if isinstance(outcome, Answer) and outcome.status == 204:
            return None
        call = _calls.events(self._job, self._last_id)
        if isinstance(outcome, Answer) and outcome.is_success:
            kind = outcome.headers.get("content-type", "no content type")
            raise unexpected(call, f"the stream of events has the content type {kind}", self._failures)
        error: CallError
        if outcome is None:
            error = about(call, ApiConnectionError("the stream of events ended before the job did", attempts=self._failures))
            pause = self._retry if self._policy.max_retries > 0 else None
        else:
            error = error_of(outcome, call, self._failures)
            pause = _retry.while_waiting(outcome, self._failures, self._policy.max_retries, random.random())  # noqa: S311
        if pause is None or pause >= self._trouble.left():
            raise error
        log.info("%s; the next one opens in %.1f s", error, pause)
        return pause

    def _reset_failures(self) -> None:
        self._failures = 0
        self._trouble = Deadline.within(_retry.WHILE_WAITING, self._policy.clock)

    def _event(self, message: Message) -> JobEvent | None:
        try:
            match message.name:
                case "status":
                    return StatusEvent(job=_wire.parse(message.data, _wire.job))
                case "queue":
                    return _wire.parse(message.data, _wire.queue)
                case "progress":
                    return _wire.parse(message.data, _wire.progress)
        except _wire.MalformedError as error:
            raise unexpected(_calls.events(self._job, self._last_id), f"an event is malformed: {error}") from None
        return None
