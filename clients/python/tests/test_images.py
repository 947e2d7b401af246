"""Downloads of images: what a client makes of expired URLs, broken answers, and answers that are not images."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from peer import JOB_ID, Cut, Peer, Reply, job, problem, told
from tintype import (
    ApiConnectionError,
    ApiError,
    AsyncTintype,
    CallError,
    GoneError,
    JobFailedError,
    JobUnfinishedError,
    Tintype,
    UnexpectedAnswerError,
    UrlExpiredError,
)
from variants import Variant


def calling(variant: Variant, peer: Peer, **options: Any) -> Tintype:
    return variant.client(api_key="tt_k", base_url=peer.url, **options)


def done(peer: Peer) -> Reply:
    return told(job("done", image_url=f"{peer.url}/files/results%2Fa.png?expires=1&signature=00ff"))


PNG = Reply(200, b"\x89PNG whole", {"Content-Type": "image/png"})


def test_a_picture_is_fetched_at_its_signed_url_without_the_key(variant: Variant, peer: Peer) -> None:
    peer.will(done(peer), PNG)
    assert calling(variant, peer).jobs.download(JOB_ID) == PNG.body
    assert peer.requests[0].headers["authorization"] == "Bearer tt_k"
    assert peer.requests[1].path == "/files/results%2Fa.png?expires=1&signature=00ff"
    assert "authorization" not in peer.requests[1].headers


def test_no_log_has_the_signature_of_an_image(variant: Variant, peer: Peer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    peer.will(done(peer), Cut(), PNG)
    assert calling(variant, peer).jobs.download(JOB_ID) == PNG.body
    # httpx logs each answer.
    assert f"GET {peer.url}/files/results%2Fa.png " in caplog.text
    assert "signature" not in caplog.text
    assert peer.requests[-1].path == "/files/results%2Fa.png?expires=1&signature=00ff"


def test_a_picture_that_breaks_off_is_fetched_again_and_never_half_there(variant: Variant, peer: Peer, tmp_path: Path) -> None:
    half = Reply(200, b"\x89PNG ", {"Content-Type": "image/png", "Content-Length": "99"}, cut=True)
    target = tmp_path / "fox.png"
    peer.will(done(peer), half, PNG)
    assert calling(variant, peer).jobs.download_to(JOB_ID, target) == target
    assert target.read_bytes() == PNG.body
    peer.will(done(peer), half)
    with pytest.raises(ApiConnectionError) as caught:
        calling(variant, peer).jobs.download_to(JOB_ID, tmp_path / "other.png")
    assert "signature" not in str(caught.value)
    assert caught.value.job_id == JOB_ID
    assert list(tmp_path.iterdir()) == [target]


def test_an_expired_url_is_renewed_once(variant: Variant, peer: Peer) -> None:
    expired = problem(403, "url_expired")
    peer.will(done(peer), expired, done(peer), PNG)
    assert calling(variant, peer).jobs.download(JOB_ID) == PNG.body
    peer.will(done(peer), expired, done(peer), expired)
    with pytest.raises(UrlExpiredError):
        calling(variant, peer).jobs.download(JOB_ID)


def of_a_bucket(status: int, code: str) -> Reply:
    return Reply(status, f"<Error><Code>{code}</Code></Error>".encode(), {"Content-Type": "application/xml"})


def test_a_bucket_is_asked_once_more_at_a_new_url_and_is_named_in_the_error(variant: Variant, peer: Peer) -> None:
    client = calling(variant, peer)
    expired, missing = of_a_bucket(403, "AccessDenied"), of_a_bucket(404, "NoSuchKey")
    peer.will(done(peer), expired, done(peer), PNG)
    assert client.jobs.download(JOB_ID) == PNG.body
    for moves in ([expired, done(peer), expired], [missing]):
        peer.will(done(peer), *moves)
        with pytest.raises(ApiError, match=r"store returned 40[34]: the image was deleted or its URL has expired") as caught:
            client.jobs.download(JOB_ID)
        assert (caught.value.code, caught.value.attempts) == (None, 1)
    peer.will(done(peer), of_a_bucket(503, "SlowDown"))
    with pytest.raises(ApiError, match=r"the image store returned 503$"):
        client.jobs.download(JOB_ID)


def test_a_picture_that_is_not_there_is_told(variant: Variant, peer: Peer) -> None:
    client = calling(variant, peer)
    peer.will(told(job("processing")))
    with pytest.raises(JobUnfinishedError, match="is processing"):
        client.jobs.download(JOB_ID)
    peer.will(told(job("failed", error="no image")))
    with pytest.raises(JobFailedError, match="no image"):
        client.jobs.download(JOB_ID)
    peer.will(done(peer), problem(410, "gone"))
    with pytest.raises(GoneError):
        client.jobs.download(JOB_ID)


NO_IMAGES = [
    Reply(200, b"<html>log in</html>", {"Content-Type": "text/html; charset=utf-8"}),
    told({"message": "log in"}),
    Reply(200, b"", {"Content-Type": "image/png"}),
    Reply(203, b"\x89PNG whole", {"Content-Type": "image/png"}),
    Reply(204),
]


@pytest.mark.parametrize("reply", NO_IMAGES)
def test_what_is_no_picture_is_told_and_replaces_no_file(variant: Variant, peer: Peer, tmp_path: Path, reply: Reply) -> None:
    target = tmp_path / "fox.png"
    target.write_bytes(b"old")
    jobs = calling(variant, peer).jobs
    for call in (lambda: jobs.download(JOB_ID), lambda: jobs.download_to(JOB_ID, target)):
        peer.will(done(peer), reply)
        with pytest.raises(UnexpectedAnswerError, match=r"returned 20.*, which is empty or not an image") as caught:
            call()
        assert "signature" not in str(caught.value)
        assert caught.value.job_id == JOB_ID
    assert [it.read_bytes() for it in tmp_path.iterdir()] == [b"old"]


@pytest.mark.parametrize("reply", NO_IMAGES)
def test_what_is_no_image_is_not_forwarded(peer: Peer, reply: Reply) -> None:
    peer.will(done(peer), reply)
    with (
        Tintype(api_key="tt_k", base_url=peer.url) as client,
        pytest.raises(UnexpectedAnswerError) as caught,
        client.jobs.open(JOB_ID),
    ):
        pass
    assert caught.value.job_id == JOB_ID

    async def forward() -> None:
        async with AsyncTintype(api_key="tt_k", base_url=peer.url) as client, client.jobs.open(JOB_ID):
            pass

    peer.will(done(peer), reply)
    with pytest.raises(UnexpectedAnswerError):
        asyncio.run(forward())


# Streams of an image


def test_an_image_is_forwarded_without_being_read(peer: Peer) -> None:
    peer.will(done(peer), PNG)
    with Tintype(api_key="tt_k", base_url=peer.url) as client, client.jobs.open(JOB_ID) as response:
        assert not response.is_stream_consumed
        assert response.headers["content-type"] == "image/png"
        assert b"".join(response.iter_bytes()) == PNG.body
    assert "authorization" not in peer.requests[1].headers

    async def forward() -> bytes:
        async with AsyncTintype(api_key="tt_k", base_url=peer.url) as client, client.jobs.open(JOB_ID) as response:
            return b"".join([chunk async for chunk in response.aiter_bytes()])

    peer.will(done(peer), PNG)
    assert asyncio.run(forward()) == PNG.body


@pytest.mark.parametrize("expired", [problem(403, "url_expired"), of_a_bucket(403, "AccessDenied")])
def test_an_image_at_an_expired_url_is_forwarded_from_a_new_one(peer: Peer, expired: Reply) -> None:
    peer.will(done(peer), expired, done(peer), PNG)
    with Tintype(api_key="tt_k", base_url=peer.url) as client, client.jobs.open(JOB_ID) as response:
        assert response.read() == PNG.body

    async def forward() -> bytes:
        async with AsyncTintype(api_key="tt_k", base_url=peer.url) as client, client.jobs.open(JOB_ID) as response:
            return await response.aread()

    peer.will(done(peer), expired, done(peer), PNG)
    assert asyncio.run(forward()) == PNG.body


def test_an_error_of_another_request_in_the_block_is_the_callers(peer: Peer) -> None:
    with Peer() as gone:
        url = gone.url
    peer.will(done(peer), PNG)
    with (
        Tintype(api_key="tt_k", base_url=peer.url) as client,
        pytest.raises(httpx.ConnectError),
        client.jobs.open(JOB_ID),
    ):
        httpx.get(url)

    async def forward() -> None:
        async with (
            AsyncTintype(api_key="tt_k", base_url=peer.url) as client,
            client.jobs.open(JOB_ID),
            httpx.AsyncClient() as other,
        ):
            await other.get(url)

    peer.will(done(peer), PNG)
    with pytest.raises(httpx.ConnectError):
        asyncio.run(forward())


@pytest.mark.parametrize(
    ("move", "kind"),
    [
        (problem(410, "gone"), GoneError),
        (Cut(), ApiConnectionError),
        (Reply(200, b"PNG ", {"Content-Type": "image/png", "Content-Length": "99"}, cut=True), ApiConnectionError),
    ],
)
def test_an_image_that_cannot_be_forwarded_raises_an_exception_of_the_package(
    peer: Peer, move: Reply | Cut, kind: type[CallError]
) -> None:
    peer.will(done(peer), move)
    with (
        Tintype(api_key="tt_k", base_url=peer.url) as client,
        pytest.raises(kind) as caught,
        client.jobs.open(JOB_ID) as response,
    ):
        list(response.iter_bytes())
    assert "signature" not in str(caught.value)
    assert caught.value.job_id == JOB_ID
    assert len(peer.requests) == 2

    async def forward() -> None:
        async with AsyncTintype(api_key="tt_k", base_url=peer.url) as client, client.jobs.open(JOB_ID) as response:
            async for _ in response.aiter_bytes():
                pass

    peer.will(done(peer), move)
    with pytest.raises(kind):
        asyncio.run(forward())
