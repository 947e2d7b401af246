"""What a client does beyond a single exchange, written once for both kinds of client.

A flow is a generator that says what it wants done, `Send` or `Pause`, is handed the outcome, and returns a value. So
all decisions are made here, without a socket or a clock of its own, and the clients differ in how they send and sleep.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from . import _calls, _retry, _wire
from ._calls import Call, JobRef
from ._failures import error_of
from ._retry import Answer, Outcome
from .errors import (
    ConflictError,
    JobFailedError,
    JobUnfinishedError,
    UnexpectedAnswerError,
    UrlExpiredError,
    WaitTimeoutError,
)
from .types import CreatedJob, Job

log = logging.getLogger("tintype")
T = TypeVar("T")
# Seconds of one waiting lookup. The service would wait for 60, but that is also when common proxies give up.
LONGEST_LOOK = 30
# What the service calls a job that was taken back.
CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class Send:
    """Send this, and hand back the outcome."""

    call: Call


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so many seconds."""

    seconds: float


Step = Send | Pause
Flow = Generator[Step, Any, T]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """A moment of a clock at which patience ends; `None` for never."""

    clock: Clock
    moment: float | None

    def left(self) -> float:
        """Seconds until then."""
        return math.inf if self.moment is None else max(0.0, self.moment - self.clock())


def exchange(call: Call, repeats: int, until: Until | None = None) -> Flow[Answer]:
    """Sends a call until it succeeds, is refused for good, or has been sent often enough."""
    attempt = 0
    while True:
        attempt += 1
        outcome: Outcome = yield Send(call)
        if isinstance(outcome, Answer) and outcome.is_success:
            return outcome
        pause = _retry.pause(outcome, attempt, repeats, random.random())  # noqa: S311
        error = error_of(outcome, call, attempt)
        if pause is None or (until is not None and pause >= until.left()):
            raise error
        log.info("attempt %d failed (%s); the next one comes in %.1f s", attempt, error, pause)
        yield Pause(pause)


def fetch(call: Call, repeats: int, read: Callable[[_wire.Json], T], until: Until | None = None) -> Flow[T]:
    """The typed answer of a call."""
    answer = yield from exchange(call, repeats, until)
    return typed(answer, call, read)


def typed(answer: Answer, call: Call, read: Callable[[_wire.Json], T]) -> T:
    """The typed form of an answer of success."""
    try:
        return _wire.parse(answer.body, read)
    except _wire.MalformedError as error:
        kind = answer.headers.get("content-type", "no content type")
        text = f"{call.method} {call.path}: {answer.status} with {kind}, which is not what the service sends: {error}"
        raise UnexpectedAnswerError(text, idempotency_key=call.idempotency_key) from None


def create(call: Call, repeats: int) -> Flow[CreatedJob]:
    """Makes a job."""
    answer = yield from exchange(call, repeats)
    replayed = answer.headers.get("idempotent-replayed") == "true"
    key = call.idempotency_key or ""
    return typed(answer, call, lambda value: _wire.created(value, key, replayed=replayed))


def cancel(job: JobRef, repeats: int) -> Flow[Job]:
    """Takes a job back."""
    call = _calls.cancel(job)
    try:
        return (yield from fetch(call, repeats, _wire.job))
    except ConflictError as error:
        if error.attempts == 1:
            raise
        # An attempt whose answer was lost may have been the one that did it.
        found = yield from fetch(_calls.lookup(job), repeats, _wire.job)
        if found.status == "failed" and found.error == CANCELED:
            return found
        raise


def waiting_repeats(repeats: int) -> int:
    """Repeats while waiting: more than for a single call, unless the caller wants none at all."""
    return max(repeats, _retry.WHILE_WAITING) if repeats > 0 else 0


def wait(job: JobRef, timeout: float | None, repeats: int, clock: Clock) -> Flow[Job]:
    """The job once it is over."""
    until = Until(clock=clock, moment=None if timeout is None else clock() + timeout)
    while True:
        seconds = math.ceil(min(LONGEST_LOOK, until.left()))
        began = clock()
        found = yield from fetch(_calls.lookup(job, wait=seconds), waiting_repeats(repeats), _wire.job, until)
        if found.is_over:
            return found
        left = until.left()
        if left <= 0:
            raise WaitTimeoutError(f"job {found.job_id} is still {found.status} after {timeout:g} s", found)
        if clock() - began < seconds / 2:
            # Answered before its time: the service is about to stop, and asking at once would be asking for nothing.
            yield Pause(min(1.0, left))


def create_and_wait(call: Call, timeout: float | None, repeats: int, clock: Clock) -> Flow[Job]:
    """Makes a job, and waits until it is done."""
    made = yield from create(call, repeats)
    ended = yield from wait(made, timeout, repeats, clock)
    if ended.status != "done":
        raise _failed(ended)
    return ended


def download(job: JobRef, save_to: Path | None, repeats: int) -> Flow[Answer]:
    """The picture of a job, at a URL of this moment."""
    found = yield from fetch(_calls.lookup(job), repeats, _wire.job)
    try:
        return (yield from _picture(found, save_to, repeats))
    except UrlExpiredError:
        # A short lifetime and a long pause between two attempts: the next lookup makes a new one.
        found = yield from fetch(_calls.lookup(job), repeats, _wire.job)
        return (yield from _picture(found, save_to, repeats))


def _picture(job: Job, save_to: Path | None, repeats: int) -> Flow[Answer]:
    if job.status == "failed":
        raise _failed(job)
    if job.result is None:
        raise JobUnfinishedError(f"job {job.job_id} is {job.status}; wait for it before its picture is fetched", job)
    return (yield from exchange(_calls.picture(job.result.image_url, save_to), repeats))


def _failed(job: Job) -> JobFailedError:
    return JobFailedError(f"job {job.job_id} has failed: {job.error}", job)
