"""What a client does beyond a single exchange, written once for both kinds of client.

A flow is a generator. It yields what it needs next, `Send` or `Pause`, receives the outcome, and returns a value. So all
decisions are made here, without a socket and with a clock that the caller passes, and the transports only send and sleep.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from . import _arguments, _calls, _retry, _wire
from ._calls import Call
from ._failures import error_of, is_image, no_image, unexpected
from ._retry import Answer, Outcome
from .errors import (
    ApiError,
    BatchWaitTimeoutError,
    CallError,
    ConflictError,
    JobError,
    JobFailedError,
    JobUnfinishedError,
    UrlExpiredError,
    WaitTimeoutError,
)
from .types import Batch, BatchRef, BatchResult, Job, JobRef

log = logging.getLogger("tintype")
T = TypeVar("T")
# Seconds of one waiting lookup. The service waits for up to 60, but common proxies give up then.
LONGEST_LOOKUP = 30
# Seconds that the last lookup of a wait may take beyond the end of the wait.
GRACE = 5.0
# The error of a canceled job.
CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class Send:
    """Send this call, and pass the outcome to the flow."""

    call: Call


@dataclass(frozen=True, slots=True)
class Pause:
    """Sleep so many seconds."""

    seconds: float


Step = Send | Pause
Flow = Generator[Step, Any, T]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How often a client repeats a call, and the clock by which it waits."""

    max_retries: int
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """A moment of a clock; `None` for never."""

    clock: Clock
    moment: float | None

    @classmethod
    def within(cls, seconds: float | None, clock: Clock) -> Deadline:
        """The deadline so many seconds from now."""
        return cls(clock=clock, moment=None if seconds is None else clock() + seconds)

    def left(self) -> float:
        """The seconds until the deadline."""
        return math.inf if self.moment is None else max(0.0, self.moment - self.clock())


def exchange(call: Call, policy: Policy, deadline: Deadline | None = None) -> Flow[Answer]:
    """Sends a call until it succeeds, fails for good, or all attempts are used. No attempt begins after the deadline."""
    attempt = 0
    while True:
        attempt += 1
        outcome: Outcome = yield Send(call)
        if isinstance(outcome, Answer) and outcome.is_success:
            return outcome
        pause = _retry.pause(outcome, attempt, policy.max_retries, random.random())  # noqa: S311
        error = error_of(outcome, call, attempt)
        if pause is None or (deadline is not None and pause > deadline.left()):
            raise error
        yield _before_the_next(attempt, error, pause)


def _before_the_next(attempt: int, error: CallError, pause: float) -> Pause:
    log.info("attempt %d failed (%s); the next one starts in %.1f s", attempt, error, pause)
    return Pause(pause)


def fetch(call: Call, policy: Policy, read: Callable[[_wire.Json], T]) -> Flow[T]:
    """The typed answer of a call."""
    answer = yield from exchange(call, policy)
    return typed(answer, call, read)


def typed(answer: Answer, call: Call, read: Callable[[_wire.Json], T]) -> T:
    """The typed form of a successful answer."""
    try:
        return _wire.parse(answer.body, read)
    except _wire.MalformedError as error:
        kind = answer.headers.get("content-type", "no content type")
        raise unexpected(call, f"{answer.status} with {kind}, which the service does not send: {error}") from None


def create(call: Call, policy: Policy, read: Callable[[_wire.Json, str, bool], T], deadline: Deadline | None = None) -> Flow[T]:
    """Creates a job or a batch."""
    answer = yield from exchange(call, policy, deadline)
    replayed = answer.headers.get("idempotent-replayed") == "true"
    key = call.idempotency_key or ""
    return typed(answer, call, lambda value: read(value, key, replayed))


def cancel(job: JobRef, policy: Policy) -> Flow[Job]:
    """Cancels a job."""
    try:
        return (yield from fetch(_calls.for_job(job, "DELETE"), policy, _wire.job))
    except ConflictError as error:
        if error.attempts == 1:
            raise
        # An earlier attempt, whose answer was lost, may have canceled the job.
        found = yield from fetch(_calls.for_job(job), policy, _wire.job)
        if found.status == "failed" and found.error == CANCELED:
            return found
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited(Generic[T]):
    """What a caller waits for: how to look it up, and how errors name it."""

    name: str
    lookup: Call
    read: Callable[[_wire.Json], T]
    status: Callable[[T], str]
    is_over: Callable[[T], bool]
    timed_out: Callable[[str, T | None], Exception]


def wait(job: JobRef, timeout: float | None, policy: Policy) -> Flow[Job]:
    """The job when it has ended."""
    job_id = _calls.job_id_of(job)
    awaited = Awaited(
        name=f"job {job_id}",
        lookup=_calls.for_job(job),
        read=_wire.job,
        status=lambda it: it.status,
        is_over=lambda it: it.is_over,
        timed_out=lambda text, seen: WaitTimeoutError(text, job_id, seen),
    )
    return _until_over(awaited, _arguments.wait_timeout(timeout), policy)


def wait_for_batch(batch: BatchRef, timeout: float | None, policy: Policy) -> Flow[Batch]:
    """The batch when it has ended."""
    batch_id = _calls.batch_id_of(batch)
    awaited = Awaited(
        name=f"batch {batch_id}",
        lookup=_calls.for_batch(batch),
        read=_wire.batch,
        status=lambda it: it.status,
        is_over=lambda it: it.is_over,
        timed_out=lambda text, seen: BatchWaitTimeoutError(text, batch_id, seen),
    )
    return _until_over(awaited, _arguments.wait_timeout(timeout), policy)


def _until_over(awaited: Awaited[T], timeout: float | None, policy: Policy) -> Flow[T]:
    clock = policy.clock
    deadline = Deadline.within(timeout, clock)
    trouble = Deadline.within(_retry.WHILE_WAITING, clock)
    seen: T | None = None
    attempt = 0
    while True:
        seconds = math.ceil(min(LONGEST_LOOKUP, deadline.left()))
        call = _calls.waiting(awaited.lookup, seconds, limit=deadline.left() + GRACE)
        attempt += 1
        began = clock()
        outcome: Outcome = yield Send(call)
        if not (isinstance(outcome, Answer) and outcome.is_success):
            error = error_of(outcome, call, attempt)
            left = deadline.left()
            pause = _retry.while_waiting(outcome, attempt, policy.max_retries, random.random(), left)  # noqa: S311
            if pause is not None and (left == 0 or pause > left):
                state = "was not seen" if seen is None else f"was {awaited.status(seen)} when last seen"
                text = f"{awaited.name} {state}; no lookup succeeded within {timeout:g} s; the last one: {error}"
                raise awaited.timed_out(text, seen) from error
            if pause is None or pause >= trouble.left():
                raise error
            yield _before_the_next(attempt, error, pause)
            continue
        seen = typed(outcome, call, awaited.read)
        if awaited.is_over(seen):
            return seen
        left = deadline.left()
        if left <= 0:
            raise awaited.timed_out(f"{awaited.name} is still {awaited.status(seen)} after {timeout:g} s", seen)
        if clock() - began < seconds / 2:
            # An early answer means that the service is about to stop. Without a pause, the next lookup would return early too.
            yield Pause(min(1.0, left))
        attempt, trouble = 0, Deadline.within(_retry.WHILE_WAITING, clock)


def results(batch: BatchRef, policy: Policy) -> Flow[tuple[BatchResult, ...]]:
    """The results of a batch."""
    call = _calls.batch_results(batch)
    answer = yield from exchange(call, policy)
    lines = (line for line in answer.body.split(b"\n") if line)
    return tuple(typed(replace(answer, body=line), call, _wire.batch_result) for line in lines)


def create_and_wait(call: Call, timeout: float | None, policy: Policy) -> Flow[Job]:
    """Creates a job, and waits until it is done."""
    deadline = Deadline.within(_arguments.wait_timeout(timeout), policy.clock)
    made = yield from create(call, policy, _wire.created, deadline)
    try:
        ended = yield from wait(made, timeout, policy)
        if ended.status != "done":
            raise _failed(ended)
    except (CallError, JobError) as error:
        # The job exists and may be charged. Without its id and key, the caller would create a second one.
        error.idempotency_key = call.idempotency_key
        error.add_note(f"the job is {made.job_id}, created with the idempotency_key {call.idempotency_key!r}")
        raise
    return ended


def download(job: JobRef, save_to: Path | None, policy: Policy) -> Flow[Answer]:
    """The image of a job, at a new URL."""
    call = yield from image(job, policy, save_to)
    try:
        return (yield from _fetch_image(call, policy))
    except ApiError as error:
        if not is_url_expired(error):
            raise
        # The pauses between attempts can outlast a URL with a short lifetime. The next lookup returns a new one.
        call = yield from image(job, policy, save_to)
        return (yield from _fetch_image(call, policy))


def _fetch_image(call: Call, policy: Policy) -> Flow[Answer]:
    answer = yield from exchange(call, policy)
    if not (is_image(answer.status, answer.headers) and (answer.body or answer.is_saved)):
        raise no_image(call, answer.status, answer.headers)
    return answer


def is_url_expired(error: ApiError) -> bool:
    """Whether an image may be found at a new URL. A bucket says so by status only."""
    return isinstance(error, UrlExpiredError) or (error.status, error.code) == (403, None)


def image(job: JobRef, policy: Policy, save_to: Path | None = None) -> Flow[Call]:
    """The call that downloads the image of a job."""
    found = yield from fetch(_calls.for_job(job), policy, _wire.job)
    if found.status == "failed":
        raise _failed(found)
    if found.result is None:
        text = f"job {found.job_id} is {found.status} and has no image yet; wait for it"
        raise JobUnfinishedError(text, found.job_id, found)
    return _calls.image(found.result.image_url, found.job_id, save_to)


def _failed(job: Job) -> JobFailedError:
    return JobFailedError(f"job {job.job_id} failed: {job.error}", job.job_id, job)
