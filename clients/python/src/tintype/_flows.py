"""What a client does beyond a single exchange, written once for both kinds of client.

A flow is a generator that says what it wants done, `Send` or `Pause`, is handed the outcome, and returns a value. So
all decisions are made here, without a socket or a clock of its own, and the clients differ in how they send and sleep.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from . import _calls, _retry, _wire
from ._calls import BatchRef, Call, JobRef
from ._failures import error_of
from ._retry import Answer, Outcome
from .errors import (
    BatchWaitTimeoutError,
    CallError,
    ConflictError,
    JobError,
    JobFailedError,
    JobUnfinishedError,
    UnexpectedAnswerError,
    UrlExpiredError,
    WaitTimeoutError,
)
from .types import Batch, BatchResult, CreatedBatch, CreatedJob, Job

log = logging.getLogger("tintype")
T = TypeVar("T")
# Seconds of one waiting lookup. The service would wait for 60, but that is also when common proxies give up.
LONGEST_LOOK = 30
# Seconds that the last lookup of a wait may take beyond the time for waiting.
GRACE = 5.0
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

    @classmethod
    def within(cls, seconds: float | None, clock: Clock) -> Until:
        """So many seconds from now."""
        return cls(clock=clock, moment=None if seconds is None else clock() + seconds)

    def left(self) -> float:
        """Seconds until then."""
        return math.inf if self.moment is None else max(0.0, self.moment - self.clock())


def exchange(call: Call, repeats: int) -> Flow[Answer]:
    """Sends a call until it succeeds, is refused for good, or has been sent often enough."""
    attempt = 0
    while True:
        attempt += 1
        outcome: Outcome = yield Send(call)
        if isinstance(outcome, Answer) and outcome.is_success:
            return outcome
        pause = _retry.pause(outcome, attempt, repeats, random.random())  # noqa: S311
        error = error_of(outcome, call, attempt)
        if pause is None:
            raise error
        yield _before_the_next(attempt, error, pause)


def _before_the_next(attempt: int, error: CallError, pause: float) -> Pause:
    log.info("attempt %d failed (%s); the next one comes in %.1f s", attempt, error, pause)
    return Pause(pause)


def fetch(call: Call, repeats: int, read: Callable[[_wire.Json], T]) -> Flow[T]:
    """The typed answer of a call."""
    answer = yield from exchange(call, repeats)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited(Generic[T]):
    """What is waited for: how it is looked up, and how errors name it."""

    name: str
    # By the seconds that the service may wait, and those after which the answer is of no more use.
    call: Callable[[int, float], Call]
    read: Callable[[_wire.Json], T]
    status: Callable[[T], str]
    is_over: Callable[[T], bool]
    mark: Callable[[CallError], None]
    late: Callable[[str, T | None], Exception]


def wait(job: JobRef, timeout: float | None, repeats: int, clock: Clock) -> Flow[Job]:
    """The job once it is over."""
    job_id = _calls.id_of(job)
    awaited = Awaited(
        name=f"job {job_id}",
        call=lambda seconds, limit: _calls.lookup(job, wait=seconds, limit=limit),
        read=_wire.job,
        status=lambda it: it.status,
        is_over=lambda it: it.is_over,
        mark=lambda error: setattr(error, "job_id", job_id),
        late=lambda text, seen: WaitTimeoutError(text, job_id, seen),
    )
    return _until_over(awaited, timeout, repeats, clock)


def wait_for_batch(batch: BatchRef, timeout: float | None, repeats: int, clock: Clock) -> Flow[Batch]:
    """The batch once it is over."""
    batch_id = _calls.batch_id_of(batch)
    awaited = Awaited(
        name=f"batch {batch_id}",
        call=lambda seconds, limit: _calls.batch_lookup(batch, wait=seconds, limit=limit),
        read=_wire.batch,
        status=lambda it: it.status,
        is_over=lambda it: it.is_over,
        mark=lambda error: setattr(error, "batch_id", batch_id),
        late=lambda text, seen: BatchWaitTimeoutError(text, batch_id, seen),
    )
    return _until_over(awaited, timeout, repeats, clock)


def _until_over(awaited: Awaited[T], timeout: float | None, repeats: int, clock: Clock) -> Flow[T]:
    until = Until.within(timeout, clock)
    trouble = Until.within(_retry.WHILE_WAITING, clock)
    seen: T | None = None
    attempt = 0
    while True:
        seconds = math.ceil(min(LONGEST_LOOK, until.left()))
        call = awaited.call(seconds, until.left() + GRACE)
        attempt += 1
        began = clock()
        outcome: Outcome = yield Send(call)
        if not (isinstance(outcome, Answer) and outcome.is_success):
            error = error_of(outcome, call, attempt)
            awaited.mark(error)
            pause = _retry.while_waiting(outcome, attempt, repeats, random.random())  # noqa: S311
            if pause is not None and pause >= until.left():
                state = "was not seen" if seen is None else f"was {awaited.status(seen)} when last seen"
                text = f"{awaited.name} {state}, and was not to be had within {timeout:g} s; the last lookup: {error}"
                raise awaited.late(text, seen) from error
            if pause is None or pause >= trouble.left():
                raise error
            yield _before_the_next(attempt, error, pause)
            continue
        try:
            seen = typed(outcome, call, awaited.read)
        except CallError as error:
            awaited.mark(error)
            raise
        if awaited.is_over(seen):
            return seen
        left = until.left()
        if left <= 0:
            raise awaited.late(f"{awaited.name} is still {awaited.status(seen)} after {timeout:g} s", seen)
        if clock() - began < seconds / 2:
            # Answered before its time: the service is about to stop, and asking at once would be asking for nothing.
            yield Pause(min(1.0, left))
        attempt, trouble = 0, Until.within(_retry.WHILE_WAITING, clock)


def create_batch(call: Call, repeats: int) -> Flow[CreatedBatch]:
    """Makes a batch."""
    answer = yield from exchange(call, repeats)
    replayed = answer.headers.get("idempotent-replayed") == "true"
    key = call.idempotency_key or ""
    return typed(answer, call, lambda value: _wire.created_batch(value, key, replayed=replayed))


def results(batch: BatchRef, repeats: int) -> Flow[tuple[BatchResult, ...]]:
    """What has become of each request of a batch."""
    call = _calls.batch_results(batch)
    answer = yield from exchange(call, repeats)
    lines = (line for line in answer.body.split(b"\n") if line)
    return tuple(typed(replace(answer, body=line), call, _wire.batch_result) for line in lines)


def create_and_wait(call: Call, timeout: float | None, repeats: int, clock: Clock) -> Flow[Job]:
    """Makes a job, and waits until it is done."""
    made = yield from create(call, repeats)
    try:
        ended = yield from wait(made, timeout, repeats, clock)
        if ended.status != "done":
            raise _failed(ended)
    except (CallError, JobError) as error:
        # The job is there and may be paid for: whoever only knew that something failed would make a second one.
        error.idempotency_key = call.idempotency_key
        error.add_note(f"the job is {made.job_id}, made with the idempotency_key {call.idempotency_key!r}")
        raise
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
        text = f"job {job.job_id} is {job.status}; wait for it before its picture is fetched"
        raise JobUnfinishedError(text, job.job_id, job)
    return (yield from exchange(_calls.picture(job.result.image_url, save_to), repeats))


def _failed(job: Job) -> JobFailedError:
    return JobFailedError(f"job {job.job_id} has failed: {job.error}", job.job_id, job)
