"""Server-sent events, as bytes come and as streams break off."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import aclosing, closing
from datetime import datetime

import pytest

from peer import JOB_ID, Cut, Peer, Reply, job, problem
from tintype import (
    ApiConnectionError,
    AsyncTintype,
    NotFoundError,
    PausedError,
    ProgressEvent,
    QueueEvent,
    StatusEvent,
    Tintype,
    UnexpectedAnswerError,
)
from tintype._events import Follower, Message, Reader
from tintype._flows import Policy
from variants import Variant

STREAM = (
    b': hello\r\nretry: 1500\n\nid: 1\nevent: status\ndata: {"a":\ndata:"\xc3\xa9 \xe2\x80\xa8"}\n\n'
    b"event: lost\n\ndata\n\nid: 2\rdata:  x\r\rid\ndata: y\n\ndata: unfinished"
)
WHOLE = [
    Message("status", '{"a":\n"é \u2028"}', "1"),
    Message("message", "", "1"),
    Message("message", " x", "2"),
    Message("message", "y", ""),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, len(STREAM)])
def test_events_are_the_same_however_the_bytes_are_cut(size: int) -> None:
    reader = Reader()
    heard = [it for at in range(0, len(STREAM), size) for it in reader.feed(STREAM[at : at + size])]
    assert heard == WHOLE
    assert reader.retry == 1.5


def stream(*parts: str, status: int = 200) -> Reply:
    """A stream that ends where the parts do."""
    return Reply(status, "".join(parts).encode(), {"Content-Type": "text/event-stream"})


def state(number: int, status: str) -> str:
    told = job(status, image_url="http://h/a.png" if status == "done" else None)
    return f"id: {number}\nevent: status\ndata: {json.dumps(told)}\n\n"


START = "2026-11-20T20:12:40.000Z"
PLACE = f'event: queue\ndata: {{"job_id":"{JOB_ID}","queue_position":36,"estimated_start_at":"{START}"}}\n\n'
PROGRESS = f'event: progress\ndata: {{"job_id":"{JOB_ID}","progress":0.42}}\n\n'


def following(variant: Variant, peer: Peer, **options: int) -> Tintype:
    return variant.client(api_key="tt_k", base_url=peer.url, **options)


def test_a_caller_may_stop_following(peer: Peer) -> None:
    peer.will(stream(state(1, "queued"), state(2, "done")))
    with Tintype(api_key="tt_k", base_url=peer.url) as client, closing(client.jobs.events(JOB_ID)) as events:
        assert isinstance(next(events), StatusEvent)

    async def follow() -> None:
        async with (
            AsyncTintype(api_key="tt_k", base_url=peer.url) as client,
            aclosing(client.jobs.events(JOB_ID)) as events,
        ):
            assert isinstance(await anext(events), StatusEvent)

    asyncio.run(follow())
    assert len(peer.requests) == 2


def test_a_job_is_followed_to_its_end(variant: Variant, peer: Peer) -> None:
    strange = 'event: mood\ndata: {"new": true}\n\n'
    peer.will(
        stream(
            "retry: 2000\n\n",
            state(1, "queued"),
            PLACE,
            state(2, "processing"),
            PROGRESS,
            strange,
            state(3, "done"),
            "data: more\n\n",
        )
    )
    heard = list(following(variant, peer).jobs.events(JOB_ID))
    assert [it.job.status for it in heard if isinstance(it, StatusEvent)] == ["queued", "processing", "done"]
    start = datetime.fromisoformat(START)
    expected = QueueEvent(job_id=JOB_ID, queue_position=36, estimated_start_at=start)
    assert [it for it in heard if isinstance(it, QueueEvent)] == [expected]
    assert [it.progress for it in heard if isinstance(it, ProgressEvent)] == [0.42]
    assert variant.pauses == []
    assert len(peer.requests) == 1
    assert "last-event-id" not in peer.requests[0].headers


def test_a_stream_that_breaks_off_is_taken_up_where_it_was(
    variant: Variant, peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tintype")
    peer.will(
        stream("retry: 1500\n\n", state(1, "queued"), "id: 2\nevent: status\ndata: {"),
        Cut(),
        problem(503, "overloaded", Retry_After="5"),
        stream(state(2, "processing")),
        stream(state(3, "failed")),
    )
    heard = list(following(variant, peer).jobs.events(JOB_ID))
    assert [it.job.status for it in heard if isinstance(it, StatusEvent)] == ["queued", "processing", "failed"]
    assert [it.headers.get("last-event-id") for it in peer.requests] == [None, "1", "1", "1", "2"]
    assert variant.pauses[0] == 1.5
    assert variant.pauses[2:] == [5, 1.5]
    logged = [it.getMessage() for it in caplog.records if it.name == "tintype"]
    assert len(logged) == 4
    assert logged[0] == "the stream of events ended before the job did; the next one opens in 1.5 s"
    assert "503 overloaded" in logged[2]


def test_a_stream_outlives_maintenance_of_more_than_a_minute(variant: Variant, peer: Peer) -> None:
    peer.will(problem(503, "paused", Retry_After="90"), stream(state(1, "done")), problem(503, "paused", Retry_After="900"))
    assert len(list(following(variant, peer).jobs.events(JOB_ID))) == 1
    assert variant.pauses == [90]
    with pytest.raises(PausedError):
        list(following(variant, peer).jobs.events(JOB_ID))


def test_who_has_heard_the_end_hears_nothing(variant: Variant, peer: Peer) -> None:
    peer.will(Reply(204))
    assert list(following(variant, peer).jobs.events(JOB_ID)) == []


def test_an_unknown_job_has_no_events(variant: Variant, peer: Peer) -> None:
    peer.will(problem(404, "not_found"))
    with pytest.raises(NotFoundError):
        list(following(variant, peer).jobs.events(JOB_ID))


def test_streams_that_never_tell_anything_are_not_followed_for_ever(variant: Variant, peer: Peer) -> None:
    peer.will(stream("retry: 8000\n\n"))
    with pytest.raises(ApiConnectionError, match="ended before the job did") as caught:
        list(following(variant, peer).jobs.events(JOB_ID))
    assert caught.value.attempts == len(peer.requests)
    assert caught.value.job_id == JOB_ID
    assert 580 < sum(variant.pauses) <= 600


def test_streams_that_only_ever_say_that_they_are_there_are_followed_for_as_long_as_it_takes() -> None:
    # As of a job that waits in a queue, behind something that ends each answer after a minute.
    now = 0.0
    follower = Follower(JOB_ID, Policy(max_retries=2, clock=lambda: now))
    for _ in range(100):
        follower.call()
        assert list(follower.feed(b": hello\n\n")) == []
        now += 45
        assert list(follower.feed(b": still here\n\n")) == []
        now += 15
        assert follower.ended(None) == 2.0
        now += 2
    # Streams that end at once are another matter.
    with pytest.raises(ApiConnectionError, match="ended before the job did"):
        for _ in range(1000):
            follower.call()
            assert list(follower.feed(b": hello\n\n")) == []
            now += follower.ended(None) or 0


def test_the_time_that_the_caller_spends_on_an_event_does_not_count() -> None:
    now = 0.0
    follower = Follower(JOB_ID, Policy(max_retries=2, clock=lambda: now))
    follower.call()
    events = follower.feed(state(1, "queued").encode())
    next(events)
    now += 3600
    assert list(events) == []
    assert follower.ended(None) == 2.0


def test_a_caller_who_wants_no_repeats_gets_none(variant: Variant, peer: Peer) -> None:
    peer.will(Cut())
    with pytest.raises(ApiConnectionError):
        list(following(variant, peer, max_retries=0).jobs.events(JOB_ID))
    assert len(peer.requests) == 1


def test_what_is_no_stream_is_told(variant: Variant, peer: Peer) -> None:
    peer.will(Reply(200, b"<html>", {"Content-Type": "text/html"}))
    with pytest.raises(UnexpectedAnswerError, match="text/html"):
        list(following(variant, peer).jobs.events(JOB_ID))
    peer.will(stream("event: status\ndata: []\n\n"))
    with pytest.raises(UnexpectedAnswerError, match="an event is malformed") as caught:
        list(following(variant, peer).jobs.events(JOB_ID))
    assert caught.value.job_id == JOB_ID
