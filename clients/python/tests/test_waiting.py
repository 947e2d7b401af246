"""Waiting for jobs: what it outlives, when it ends, and what is left in hand when it fails."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Iterator
from threading import Barrier
from typing import Any

import anyio
import httpx
import pytest
import trio
from trio.testing import MockClock

from peer import JOB_ID, Cut, Peer, Reply, created, job, problem, told
from tintype import (
    ApiConnectionError,
    AsyncTintype,
    CallError,
    JobError,
    JobFailedError,
    NotFoundError,
    PausedError,
    Tintype,
    UnauthorizedError,
    UnexpectedAnswerError,
    WaitTimeoutError,
    _flows,
)
from tintype._retry import Fault
from tintype._settings import Settings
from variants import Variant

FOX: dict[str, Any] = {"prompt": "a fox", "tier": "fast", "aspect_ratio": "1:1"}


def calling(variant: Variant, peer: Peer, **options: Any) -> Tintype:
    return variant.client(api_key="tt_k", base_url=peer.url, **options)


def test_waiting_outlives_a_restart(variant: Variant, peer: Peer) -> None:
    # Told to go, then refused, then answered by the one that took over.
    peer.will(
        told(job("queued")), problem(503, "overloaded", Retry_After="5"), *[Cut()] * 6, told(job("processing")), told(job())
    )
    assert calling(variant, peer).jobs.wait(JOB_ID).status == "done"
    assert {it.path for it in peer.requests} == {f"/api/v1/jobs/{JOB_ID}?wait=30"}
    assert variant.pauses[:2] == [1, 5]


def test_waiting_outlives_maintenance_of_more_than_a_minute(variant: Variant, peer: Peer) -> None:
    peer.will(Reply(503, b"<html>maintenance</html>", {"Retry-After": "90"}), told(job()))
    assert calling(variant, peer).jobs.wait(JOB_ID).status == "done"
    assert variant.pauses == [90]


def test_waiting_ends_when_its_time_is_over(variant: Variant, peer: Peer) -> None:
    peer.will(told(job("processing")))
    with pytest.raises(WaitTimeoutError, match="still processing after 0 s") as caught:
        calling(variant, peer).jobs.wait(JOB_ID, timeout=0)
    assert caught.value.job is not None
    assert caught.value.job.job_id == JOB_ID
    assert [it.path for it in peer.requests] == [f"/api/v1/jobs/{JOB_ID}?wait=0"]


def test_waiting_does_not_sleep_past_its_time_and_tells_what_it_saw(variant: Variant, peer: Peer) -> None:
    peer.will(problem(503, "paused", Retry_After="30"))
    with pytest.raises(WaitTimeoutError, match=r"was not seen; no lookup succeeded within 20 s.*503 paused") as caught:
        calling(variant, peer).jobs.wait(JOB_ID, timeout=20)
    assert (caught.value.job_id, caught.value.job) == (JOB_ID, None)
    assert isinstance(caught.value.__cause__, PausedError)
    assert variant.pauses == []
    peer.will(told(job("processing")), problem(503, "paused", Retry_After="30"))
    with pytest.raises(WaitTimeoutError, match="was processing when last seen") as caught:
        calling(variant, peer).jobs.wait(JOB_ID, timeout=20)
    assert caught.value.job is not None
    assert caught.value.job.status == "processing"


def test_waiting_outlives_whatever_ends_within_ten_minutes(variant: Variant, peer: Peer) -> None:
    # Eight seconds at the most before each: a service that takes long to finish its images and to start.
    peer.will(*[Cut()] * 70, told(job()))
    assert calling(variant, peer).jobs.wait(JOB_ID, timeout=None).status == "done"
    peer.will(Cut())
    variant.pauses.clear()
    with pytest.raises(ApiConnectionError) as caught:
        calling(variant, peer).jobs.wait(JOB_ID, timeout=None)
    assert caught.value.job_id == JOB_ID
    assert 580 < sum(variant.pauses) <= 600


def test_a_caller_who_wants_no_repeats_of_lookups_gets_none(variant: Variant, peer: Peer) -> None:
    peer.will(Cut())
    with pytest.raises(ApiConnectionError):
        calling(variant, peer, max_retries=0).jobs.wait(JOB_ID)
    assert len(peer.requests) == 1


def test_a_lookup_that_hangs_does_not_outlast_the_wait() -> None:
    now = 100.0
    flow = _flows.wait(JOB_ID, 5.0, _flows.Policy(max_retries=2, clock=lambda: now))
    step = next(flow)
    assert isinstance(step, _flows.Send)
    settings = Settings.of("tt_k", "http://127.0.0.1", 60.0, 2)
    with httpx.Client() as http:
        times = settings.request(http, step.call).extensions["timeout"]
    assert (times["connect"], times["read"], times["pool"]) == (10.0, 10.0, 10.0)
    now = 110.0
    with pytest.raises(WaitTimeoutError, match="within 5 s"):
        flow.send(Fault(cause=httpx.ReadTimeout("slow"), is_timeout=True))


def test_the_last_lookup_of_a_wait_is_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)
    now = 100.0
    flow = _flows.wait(JOB_ID, 5.0, _flows.Policy(max_retries=2, clock=lambda: now))
    refused = Fault(cause=httpx.ConnectError("refused"))
    moments = []
    with pytest.raises(WaitTimeoutError, match=r"no lookup succeeded within 5 s.*refused"):
        step = next(flow)
        while True:
            if isinstance(step, _flows.Send):
                moments.append(now)
                step = flow.send(refused)
            else:
                now += step.seconds
                step = next(flow)
    assert moments == [100, 100.5, 101.5, 103.5, 105]


def test_an_endless_retry_after_is_the_error_of_a_wait_without_limit(variant: Variant, peer: Peer) -> None:
    peer.will(problem(503, "paused", Retry_After="9" * 400))
    with pytest.raises(PausedError):
        calling(variant, peer).jobs.wait(JOB_ID, timeout=None)


def test_an_answer_that_arrives_byte_by_byte_does_not_outlast_the_wait() -> None:
    now = 100.0

    class Slow(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            nonlocal now
            for byte in told(job()).body:
                now += 1
                yield bytes([byte])

    http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=Slow())))
    with http, Tintype(api_key="tt_k", base_url="http://h", http_client=http) as client:
        client._transport.clock = lambda: now
        with pytest.raises(WaitTimeoutError, match=r"within 5 s.*no response in time"):
            client.jobs.wait(JOB_ID, timeout=5)
    assert now <= 111


@pytest.mark.parametrize("is_head_slow", [True, False])
def test_a_slow_answer_does_not_outlast_the_wait_on_a_loop(is_head_slow: bool) -> None:
    class Slow(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for byte in told(job()).body:
                await anyio.sleep(1)
                yield bytes([byte])

    async def answer(_: httpx.Request) -> httpx.Response:
        if is_head_slow:
            await anyio.sleep(3600)
        return httpx.Response(200, stream=Slow())

    async def wait() -> float:
        http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        async with http, AsyncTintype(api_key="tt_k", base_url="http://h", http_client=http) as client:
            client._transport.clock = trio.current_time
            began = trio.current_time()
            with pytest.raises(WaitTimeoutError, match=r"within 5 s.*no response in time"):
                await client.jobs.wait(JOB_ID, timeout=5)
            return trio.current_time() - began

    # This clock does not wait, but jumps to the next deadline.
    assert trio.run(wait, clock=MockClock(autojump_threshold=0)) == pytest.approx(10)


def test_waiting_for_an_unknown_job_ends_at_once(variant: Variant, peer: Peer) -> None:
    peer.will(problem(404, "not_found"))
    with pytest.raises(NotFoundError):
        calling(variant, peer).jobs.wait(JOB_ID)


def test_a_failed_job_is_an_answer_of_wait_and_an_exception_of_create_and_wait(variant: Variant, peer: Peer) -> None:
    peer.will(told(job("failed", error="blocked for safety: the prompt")))
    client = calling(variant, peer)
    assert client.jobs.wait(JOB_ID).error == "blocked for safety: the prompt"
    peer.will(created(), told(job("failed", error="blocked for safety: the prompt")))
    with pytest.raises(JobFailedError, match="blocked for safety: the prompt") as caught:
        client.generations.create_and_wait(**FOX)
    assert caught.value.job.job_id == JOB_ID


# Making and waiting in one: the job is there and may be paid for, so what fails has to say which it is.

FAILURES = [
    (Cut(), ApiConnectionError),
    (problem(401, "unauthorized"), UnauthorizedError),
    (problem(503, "paused", Retry_After="3600"), PausedError),
    (problem(503, "paused", Retry_After="55"), WaitTimeoutError),
    (Reply(200, b"<html>", {"Content-Type": "text/html"}), UnexpectedAnswerError),
    (told(job("failed", error="no image")), JobFailedError),
]


@pytest.mark.parametrize("key", [None, "order-4711"])
@pytest.mark.parametrize(("move", "kind"), FAILURES)
def test_who_fails_to_wait_for_a_job_that_was_made_can_go_on_with_it(
    variant: Variant, peer: Peer, move: Reply | Cut, kind: type[CallError | JobError], key: str | None
) -> None:
    peer.will(created(), move)
    timeout = 50.0 if kind is WaitTimeoutError else None
    with pytest.raises(kind) as caught:
        calling(variant, peer).generations.create_and_wait(idempotency_key=key, wait_timeout=timeout, **FOX)
    error = caught.value
    assert isinstance(error, CallError | JobError)
    used = peer.requests[0].headers["idempotency-key"]
    assert (error.job_id, error.idempotency_key) == (JOB_ID, used)
    assert key in (None, used)
    # In every traceback too.
    assert error.__notes__ == [f"the job is {JOB_ID}, created with the idempotency_key {used!r}"]
    peer.will(created(), told(job()))
    again = calling(variant, peer).generations.create_and_wait(idempotency_key=error.idempotency_key, **FOX)
    assert again.job_id == error.job_id
    assert peer.requests[-2].headers["idempotency-key"] == used


def test_a_creation_that_fails_names_no_job(variant: Variant, peer: Peer) -> None:
    peer.will(Cut())
    with pytest.raises(ApiConnectionError) as caught:
        calling(variant, peer).generations.create_and_wait(idempotency_key="k", **FOX)
    assert (caught.value.job_id, caught.value.idempotency_key) == (None, "k")


def test_a_creation_is_not_repeated_after_the_end_of_the_wait(variant: Variant, peer: Peer) -> None:
    peer.will(problem(503, "paused", Retry_After="30"))
    with pytest.raises(PausedError) as caught:
        calling(variant, peer).generations.create_and_wait(idempotency_key="k", wait_timeout=5, **FOX)
    assert (caught.value.attempts, caught.value.idempotency_key) == (1, "k")
    peer.will(problem(503, "paused", Retry_After="30"), created(), told(job()))
    assert calling(variant, peer).generations.create_and_wait(wait_timeout=60, **FOX).status == "done"
    assert variant.pauses == [30]


def test_hundreds_may_wait_at_once_without_one_being_told_of_a_time_out(peer: Peer) -> None:
    # More than the connections that a client has of its own accord, each of which is held until all of them are there.
    count = 120
    together = Barrier(count)

    def answer(_: object) -> Reply:
        together.wait(60)
        return told(job())

    peer.will(answer)

    async def all_at_once() -> list[str]:
        async with AsyncTintype(api_key="tt_k", base_url=peer.url, max_retries=0) as client:
            waits: list[Awaitable[Any]] = [client.jobs.wait(JOB_ID) for _ in range(count)]
            return [it.status for it in await asyncio.gather(*waits)]

    assert asyncio.run(all_at_once()) == ["done"] * count
