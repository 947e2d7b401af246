"""What a client makes of a service that fails, and of what stands in front of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from peer import JOB_ID, Cut, Peer, Reply, Silence, created, job, problem, told
from tintype import (
    ApiConnectionError,
    ApiError,
    ApiTimeoutError,
    ArgumentError,
    CallError,
    ConflictError,
    InternalError,
    OverloadedError,
    PausedError,
    RateLimitedError,
    StorageUnavailableError,
    Tintype,
    UnexpectedAnswerError,
    ValidationError,
)
from variants import Variant

FOX: dict[str, Any] = {"prompt": "a fox", "tier": "fast", "aspect_ratio": "1:1"}
# Of a timeout that is meant to run out.
SHORT = 0.2


def calling(variant: Variant, peer: Peer, **options: Any) -> Tintype:
    return variant.client(api_key="tt_k", base_url=peer.url, **options)


def keys(peer: Peer) -> list[str | None]:
    return [it.headers.get("idempotency-key") for it in peer.requests]


def test_every_attempt_of_a_creation_carries_one_key(variant: Variant, peer: Peer) -> None:
    peer.will(problem(503, "paused", Retry_After="30"), Cut(), created())
    made = calling(variant, peer).generations.create(**FOX)
    assert made.job_id == JOB_ID
    assert keys(peer) == [made.idempotency_key] * 3
    assert len({it.body for it in peer.requests}) == 1
    assert variant.pauses[0] == 30
    assert 0.75 <= variant.pauses[1] <= 1


def test_two_creations_carry_two_keys_and_a_caller_may_name_one(variant: Variant, peer: Peer) -> None:
    peer.will(created())
    client = calling(variant, peer)
    for key in (None, None, "order-4711"):
        client.generations.create(idempotency_key=key, **FOX)
    assert len(set(keys(peer))) == 3
    assert keys(peer)[2] == "order-4711"


def test_a_replay_is_told(variant: Variant, peer: Peer) -> None:
    again = created()
    peer.will(created(), Reply(202, again.body, {**again.headers, "Idempotent-Replayed": "true"}))
    client = calling(variant, peer)
    assert [client.generations.create(idempotency_key="k", **FOX).replayed for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (429, "rate_limited", RateLimitedError),
        (500, "internal", InternalError),
        (502, "storage_unavailable", StorageUnavailableError),
        (503, "paused", PausedError),
        (503, "overloaded", OverloadedError),
    ],
)
def test_a_failure_that_stays_is_told_by_its_code(
    variant: Variant, peer: Peer, status: int, code: str, kind: type[ApiError]
) -> None:
    peer.will(problem(status, code, Retry_After="2"))
    with pytest.raises(kind) as caught:
        calling(variant, peer).generations.create(idempotency_key="k", **FOX)
    error = caught.value
    assert (error.status, error.code, error.detail, error.request_id, error.retry_after) == (status, code, "why", "r-1", 2)
    assert error.attempts == len(peer.requests) == 3
    assert error.idempotency_key == "k"
    assert str(error) == f"{status} {code}: why (request r-1)"
    assert variant.pauses == [2, 2]


def test_a_refusal_is_sent_once_and_names_every_field(variant: Variant, peer: Peer) -> None:
    faults = [{"field": "prompt", "message": "is required"}, {"field": "size", "message": "is unknown"}]
    body = {"status": 422, "code": "validation_failed", "detail": "2 fields", "request_id": "r", "errors": faults}
    peer.will(Reply(422, told(body).body, {"Content-Type": "application/problem+json"}))
    with pytest.raises(ValidationError, match=r"prompt: is required; size: is unknown \(request r\)") as caught:
        calling(variant, peer).generations.create(**FOX)
    assert [(it.field, it.message) for it in caught.value.errors] == [("prompt", "is required"), ("size", "is unknown")]
    assert len(peer.requests) == 1


def test_more_patience_than_a_minute_is_the_callers_to_have(variant: Variant, peer: Peer) -> None:
    peer.will(problem(503, "paused", Retry_After="3600"))
    with pytest.raises(PausedError) as caught:
        calling(variant, peer).generations.create(**FOX)
    assert caught.value.retry_after == 3600
    assert len(peer.requests) == 1


def test_a_code_of_tomorrow_is_an_api_error(variant: Variant, peer: Peer) -> None:
    peer.will(problem(418, "teapot"))
    with pytest.raises(ApiError) as caught:
        calling(variant, peer).balance()
    assert (type(caught.value), caught.value.code) == (ApiError, "teapot")


@pytest.mark.parametrize("request_id", ["", None])
def test_the_id_of_a_request_may_be_in_the_header_only(variant: Variant, peer: Peer, request_id: str | None) -> None:
    said = problem(404, "not_found", X_Request_Id="r-2")
    for headers, expected in ((said.headers, "r-2"), ({**said.headers, "X-Request-Id": ""}, None)):
        body = {"status": 404, "code": "not_found", "detail": "why", "request_id": request_id}
        peer.will(Reply(404, told(body).body, headers))
        with pytest.raises(ApiError) as caught:
            calling(variant, peer).balance()
        assert caught.value.request_id == expected
        assert str(caught.value) == "404 not_found: why" + (" (request r-2)" if expected else "")


@pytest.mark.parametrize(
    "reply",
    [
        Reply(502, b"<html>Bad Gateway</html>", {"Content-Type": "text/html"}),
        Reply(502, b"not JSON", {"Content-Type": "application/problem+json"}),
        Reply(502, b"[]", {"Content-Type": "application/problem+json"}),
        Reply(502, b"[" * 200_000, {"Content-Type": "application/problem+json"}),
    ],
)
def test_an_error_of_a_proxy_has_no_code(variant: Variant, peer: Peer, reply: Reply) -> None:
    peer.will(reply)
    with pytest.raises(ApiError, match=r"not in the format of the service \(.*\): base_url is wrong") as caught:
        calling(variant, peer).balance()
    assert (caught.value.status, caught.value.code, caught.value.attempts) == (502, None, 3)


def test_a_redirect_is_not_followed_with_a_key(variant: Variant, peer: Peer) -> None:
    peer.will(Reply(301, b"", {"Location": "https://elsewhere.example/"}))
    with pytest.raises(ApiError, match=r"redirected to https://elsewhere\.example/"):
        calling(variant, peer).generations.create(**FOX)
    assert len(peer.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b"<html>", {"Content-Type": "text/html"}),
        told([]),
        told({"balance": "1"}),
        told({"balance": 1, "reserved": None, "available": "x"}),
    ],
)
def test_a_success_that_is_not_from_the_service_is_told(variant: Variant, peer: Peer, reply: Reply) -> None:
    peer.will(reply)
    with pytest.raises(UnexpectedAnswerError, match="which the service does not send"):
        calling(variant, peer).balance()


def test_a_connection_that_is_refused_is_told_after_all_attempts(variant: Variant) -> None:
    with Peer() as gone:
        url = gone.url
    with pytest.raises(ApiConnectionError) as caught:
        variant.client(api_key="tt_k", base_url=url).generations.create(idempotency_key="k", **FOX)
    assert (caught.value.attempts, caught.value.idempotency_key) == (3, "k")
    assert caught.value.__cause__ is not None


def test_an_answer_that_does_not_come_is_a_time_out(variant: Variant, peer: Peer) -> None:
    peer.will(Silence())
    with pytest.raises(ApiTimeoutError) as caught:
        calling(variant, peer, timeout=SHORT, max_retries=1).generations.create(idempotency_key="k", **FOX)
    assert caught.value.attempts == len(peer.requests) == 2
    assert keys(peer) == ["k", "k"]


def test_a_slow_answer_is_asked_for_again_and_is_one_job(variant: Variant, peer: Peer) -> None:
    peer.will(Silence(), created())
    assert calling(variant, peer, timeout=SHORT).generations.create(**FOX).job_id == JOB_ID
    assert len(set(keys(peer))) == 1


def test_half_an_answer_is_none(variant: Variant, peer: Peer) -> None:
    half = Reply(200, b'{"balance":', {"Content-Type": "application/json", "Content-Length": "99"}, cut=True)
    peer.will(half, told({"balance": "1.00", "reserved": "0.00", "available": "1.00"}))
    assert str(calling(variant, peer).balance().available) == "1.00"


def test_what_cannot_be_written_into_a_header_is_told_and_nothing_is_sent(variant: Variant, peer: Peer) -> None:
    peer.will(created())
    for key in ("Auftrag-№1", "a\nb"):
        with pytest.raises(ArgumentError, match="visible ASCII characters"):
            calling(variant, peer).generations.create(idempotency_key=key, **FOX)
    assert peer.requests == []


def test_an_empty_key_of_the_caller_is_sent_for_the_service_to_refuse(variant: Variant, peer: Peer) -> None:
    peer.will(problem(422, "validation_failed"))
    for make in ("create", "create_and_wait"):
        with pytest.raises(ValidationError):
            getattr(calling(variant, peer).generations, make)(idempotency_key="", **FOX)
    assert keys(peer) == ["", ""]


def test_an_address_that_no_attempt_can_reach_is_tried_once(variant: Variant, peer: Peer) -> None:
    peer.will(told(job("done", image_url="ftp://h/a.png")))
    with pytest.raises(ApiConnectionError) as caught:
        calling(variant, peer).jobs.download(JOB_ID)
    assert caught.value.attempts == 1
    assert variant.pauses == []


@pytest.mark.parametrize("reply", [problem(401, "unauthorized"), Cut()])
@pytest.mark.parametrize("method", ["get", "cancel", "delete_image", "download", "download_to", "wait", "events"])
def test_an_error_of_a_call_about_a_job_names_the_job(
    variant: Variant, peer: Peer, tmp_path: Path, method: str, reply: Reply | Cut
) -> None:
    peer.will(reply)
    more = [tmp_path / "fox.png"] if method == "download_to" else []
    with pytest.raises(CallError) as caught:
        made = getattr(calling(variant, peer, max_retries=0).jobs, method)(JOB_ID, *more)
        list(made)
    assert (caught.value.job_id, caught.value.batch_id) == (JOB_ID, None)


@pytest.mark.parametrize("reply", [problem(401, "unauthorized"), Reply(200, b"<html>")])
@pytest.mark.parametrize("method", ["get", "cancel", "results", "wait"])
def test_an_error_of_a_call_about_a_batch_names_the_batch(variant: Variant, peer: Peer, method: str, reply: Reply) -> None:
    peer.will(reply)
    with pytest.raises(CallError) as caught:
        getattr(calling(variant, peer).batches, method)("b")
    assert (caught.value.job_id, caught.value.batch_id) == (None, "b")


# Canceling


def test_a_cancel_whose_answer_was_lost_is_found_done(variant: Variant, peer: Peer) -> None:
    peer.will(Cut(), problem(409, "conflict"), told(job("failed", error="canceled")))
    assert calling(variant, peer).jobs.cancel(JOB_ID).error == "canceled"
    assert [it.method for it in peer.requests] == ["DELETE", "DELETE", "GET"]


def test_a_cancel_that_came_too_late_is_a_conflict(variant: Variant, peer: Peer) -> None:
    peer.will(problem(409, "conflict"))
    with pytest.raises(ConflictError):
        calling(variant, peer).jobs.cancel(JOB_ID)
    assert len(peer.requests) == 1
    peer.will(Cut(), problem(409, "conflict"), told(job("failed", error="no image")))
    with pytest.raises(ConflictError):
        calling(variant, peer).jobs.cancel(JOB_ID)


# Results of a batch

RESULT = {"custom_id": "0", "job_id": JOB_ID, "status": "failed", "result": None, "error": "no image"}
LINES = Reply(200, told(RESULT).body + b"\n" + told(RESULT).body + b"\n", {"Content-Type": "application/x-ndjson"})


def test_results_that_break_off_are_fetched_again(variant: Variant, peer: Peer) -> None:
    half = Reply(200, LINES.body[:-20], {**LINES.headers, "Content-Length": str(len(LINES.body))}, cut=True)
    peer.will(half, LINES)
    assert [it.error for it in calling(variant, peer).batches.results("b")] == ["no image"] * 2
    assert len(peer.requests) == 2


def test_results_that_are_none_are_told(variant: Variant, peer: Peer) -> None:
    peer.will(Reply(200, LINES.body + b"<html>", LINES.headers))
    with pytest.raises(UnexpectedAnswerError, match="which the service does not send"):
        calling(variant, peer).batches.results("b")
