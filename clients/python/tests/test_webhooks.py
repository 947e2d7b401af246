"""Deliveries are verified, by the vectors that the service's own tests use."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tintype import ArgumentError, WebhookVerificationError, webhooks

REPOSITORY = Path(__file__).resolve().parents[3]
VECTORS = json.loads((REPOSITORY / "tests/webhooks/golden.json").read_text(encoding="utf-8"))["vectors"]
# What Python writes in its own way; see tests/webhooks/verify.py.
PYTHON_DIFFERS = {"small-float", "astral-order"}


def named(vector: dict[str, Any]) -> str:
    name: str = vector["name"]
    return name


def x_headers(vector: dict[str, Any]) -> dict[str, str]:
    return {"X-Timestamp": str(vector["timestamp"]), "X-Signature": vector["x_signature"]}


def standard_headers(vector: dict[str, Any]) -> dict[str, str]:
    return {
        "Webhook-Id": vector["webhook_id"],
        "Webhook-Timestamp": str(vector["timestamp"]),
        "Webhook-Signature": vector["webhook_signature"],
    }


def is_genuine(vector: dict[str, Any], headers: dict[str, str], **changed: Any) -> bool:
    given = {"body": vector["body"], "secret": vector["secrets"], "now": vector["timestamp"], **changed}
    try:
        webhooks.verify(given["body"], headers, given["secret"], now=given["now"])
    except WebhookVerificationError:
        return False
    return True


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_each_signature_suffices(vector: dict[str, Any]) -> None:
    for headers in (x_headers(vector), standard_headers(vector), x_headers(vector) | standard_headers(vector)):
        assert is_genuine(vector, headers)
        assert is_genuine(vector, headers, body=vector["body"].encode())
        assert is_genuine(vector, headers, secret=vector["secrets"][0])
        assert is_genuine(vector, {name.upper(): value for name, value in headers.items()})


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_what_was_changed_is_refused(vector: dict[str, Any]) -> None:
    for headers in (x_headers(vector), standard_headers(vector), x_headers(vector) | standard_headers(vector)):
        assert not is_genuine(vector, headers, body=vector["body"].replace("job_id", "job_ie"))
        assert not is_genuine(vector, headers, secret="whsec_AAAA")
    assert not is_genuine(vector, standard_headers(vector) | {"Webhook-Id": "other"})
    assert not is_genuine(vector, x_headers(vector) | {"X-Timestamp": str(vector["timestamp"] + 1)})


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_five_minutes_on_either_side_are_accepted_and_no_more(vector: dict[str, Any]) -> None:
    for headers in (x_headers(vector), standard_headers(vector)):
        for seconds, holds in ((-301, False), (-300, True), (300, True), (301, False)):
            assert is_genuine(vector, headers, now=vector["timestamp"] + seconds) == holds


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_a_body_that_was_written_again_still_verifies(vector: dict[str, Any]) -> None:
    rewritten = json.dumps(json.loads(vector["body"]), indent=2)
    own = vector["encoding"] == "utf8" and PYTHON_DIFFERS.intersection(vector["differs"])
    assert is_genuine(vector, x_headers(vector), body=rewritten) == (not own)
    # That of Standard Webhooks is made over the bytes alone.
    assert not is_genuine(vector, standard_headers(vector), body=rewritten)


@pytest.mark.parametrize("vector", VECTORS, ids=named)
def test_the_event_tells_what_was_sent(vector: dict[str, Any]) -> None:
    headers = x_headers(vector) | standard_headers(vector)
    event = webhooks.verify(vector["body"], headers, vector["secrets"], now=vector["timestamp"])
    assert event.job_id == vector["job_id"]
    assert event.status == ("failed" if vector["kind"] == "failed" else "done")
    assert (event.result.image_url if event.result else None) == vector["image_url"]
    assert event.error == vector["error"]
    assert event.delivery_id == vector["webhook_id"]
    assert event.sent_at.timestamp() == vector["timestamp"]
    assert event.is_test == (vector["kind"] == "test")


def test_a_delivery_id_that_nothing_has_signed_is_not_told() -> None:
    vector = VECTORS[0]
    signed = x_headers(vector) | standard_headers(vector)
    for changed in ({"Webhook-Id": "other"}, {"Webhook-Signature": "v1,AAAA"}, {"Webhook-Timestamp": "1"}):
        event = webhooks.verify(vector["body"], signed | changed, vector["secrets"], now=vector["timestamp"])
        assert event.delivery_id is None
        assert event.job_id == vector["job_id"]


def test_there_are_vectors() -> None:
    assert len(VECTORS) > 20
    assert any(len(it["secrets"]) > 1 for it in VECTORS)
    assert any(it["kind"] == "test" for it in VECTORS)


@pytest.mark.parametrize("body", [{"job_id": "j"}, None, 5, ["a"]])
def test_a_parsed_body_is_refused_with_the_way_to_the_raw_one(body: Any) -> None:
    with pytest.raises(ArgumentError, match=r"body must be the raw body.*request\.get_data"):
        webhooks.verify(body, x_headers(VECTORS[0]), "whsec_AAAA")


@pytest.mark.parametrize("headers", [None, [("X-Timestamp", "1")]])
def test_headers_that_are_no_mapping_are_refused(headers: Any) -> None:
    with pytest.raises(ArgumentError, match="headers must be a mapping"):
        webhooks.verify(b"{}", headers, "whsec_AAAA")


@pytest.mark.parametrize("headers", [{b"X-Timestamp": b"1"}, {"X-Timestamp": 1}, {"X-Timestamp": ["1"]}])
def test_headers_that_are_no_text_are_refused(headers: Any) -> None:
    with pytest.raises(ArgumentError, match="headers must map text to text"):
        webhooks.verify(b"", headers, "whsec_AAAA")


@pytest.mark.parametrize("secret", [5, [5], b"whsec_AAAA"])
def test_a_secret_that_is_no_text_is_refused(secret: Any) -> None:
    with pytest.raises(ArgumentError, match="secret must be text"):
        webhooks.verify(b"", {}, secret)


def test_other_headers_may_have_any_value() -> None:
    vector = VECTORS[0]
    others: dict[str, Any] = {"Via": ["a", "b"], "Webhook-Id": None}
    assert is_genuine(vector, x_headers(vector) | others)


def test_no_time_is_within_a_tolerance_that_is_no_number() -> None:
    vector = VECTORS[0]
    with pytest.raises(WebhookVerificationError):
        webhooks.verify(vector["body"], x_headers(vector), vector["secrets"], tolerance=math.nan)


@pytest.mark.parametrize("secret", ["", " ", "whsec_", "whsec_ ", [], ["", "whsec_"], None, [None]])
def test_an_empty_secret_is_never_used(secret: Any) -> None:
    # What an attacker would sign with it.
    body = b"{}"
    for key in (b"", b"whsec_"):
        code = hmac.new(key, b"1795000000." + body, hashlib.sha256).hexdigest()
        standard = hmac.new(key, b"id.1795000000." + body, hashlib.sha256).digest()
        headers = {
            "X-Timestamp": "1795000000",
            "X-Signature": f"sha256={code}",
            "webhook-id": "id",
            "webhook-timestamp": "1795000000",
            "webhook-signature": f"v1,{base64.b64encode(standard).decode()}",
        }
        with pytest.raises(WebhookVerificationError, match="no secret"):
            webhooks.verify(body, headers, secret, now=1795000000)


@pytest.mark.parametrize(
    "timestamp", ["", "now", "1795000000.0", "+1795000000", " 1795000000", "01795000000", "١٧٩٥", "1" * 5000, "1e9"]
)
def test_a_time_that_is_none_is_refused(timestamp: str) -> None:
    vector = VECTORS[0]
    assert not is_genuine(vector, x_headers(vector) | {"X-Timestamp": timestamp})
    assert not is_genuine(vector, standard_headers(vector) | {"Webhook-Timestamp": timestamp})


@pytest.mark.parametrize("signature", ["", "é", "sha256=", "v1,", "v1,é", "v1a,AAAA", "\x00", " ", "\udcff"])
def test_a_signature_that_is_none_is_refused(signature: str) -> None:
    vector = VECTORS[0]
    assert not is_genuine(vector, x_headers(vector) | {"X-Signature": signature})
    assert not is_genuine(vector, standard_headers(vector) | {"Webhook-Signature": signature})
    assert not is_genuine(vector, standard_headers(vector) | {"Webhook-Id": signature})


@pytest.mark.parametrize("body", ["", "[]", "null", "{}", '{"job_id": 1', "[" * 100_000])
def test_a_signed_body_that_is_no_delivery_is_refused(body: str) -> None:
    code = hmac.new(b"whsec_AAAA", b"1795000000." + body.encode(), hashlib.sha256).hexdigest()
    headers = {"X-Timestamp": "1795000000", "X-Signature": f"sha256={code}"}
    with pytest.raises(WebhookVerificationError, match="not a delivery"):
        webhooks.verify(body, headers, "whsec_AAAA", now=1795000000)


def test_an_operator_event_is_verified_by_its_own_function() -> None:
    value = {
        "created_at": "2026-11-20T20:10:58.145Z",
        "data": {"backend": "google", "error": "connection refused", "failures": 5},
        "type": "backend.down",
        "version": 1,
    }
    body = json.dumps(value, separators=(",", ":"))
    code = hmac.new(b"whsec_AAAA", f"1795000000.{body}".encode(), hashlib.sha256).hexdigest()
    standard = hmac.new(bytes(3), f"id.1795000000.{body}".encode(), hashlib.sha256).digest()
    x_signed = {"X-Timestamp": "1795000000", "X-Signature": f"sha256={code}"}
    standard_signed = {
        "webhook-id": "id",
        "webhook-timestamp": "1795000000",
        "webhook-signature": f"v1,{base64.b64encode(standard).decode()}",
    }
    for headers, event_id in ((x_signed, None), (standard_signed, "id")):
        event = webhooks.verify_operator_event(body, headers, "whsec_AAAA", now=1795000000)
        assert (event.type, event.data, event.version) == ("backend.down", value["data"], 1)
        assert event.created_at == datetime(2026, 11, 20, 20, 10, 58, 145000, UTC)
        assert event.event_id == event_id
        assert event.sent_at.timestamp() == 1795000000
        with pytest.raises(WebhookVerificationError, match="use verify_operator_event"):
            webhooks.verify(body, headers, "whsec_AAAA", now=1795000000)
    with pytest.raises(WebhookVerificationError, match="does not match"):
        webhooks.verify_operator_event(body.replace("google", "gemini"), x_signed, "whsec_AAAA", now=1795000000)
    vector = VECTORS[0]
    with pytest.raises(WebhookVerificationError, match="not a delivery"):
        webhooks.verify_operator_event(vector["body"], x_headers(vector), vector["secrets"], now=vector["timestamp"])


def test_a_refusal_says_why() -> None:
    vector = VECTORS[0]
    with pytest.raises(WebhookVerificationError) as caught:
        webhooks.verify(vector["body"], x_headers(vector), vector["secrets"], now=vector["timestamp"] + 412)
    assert str(caught.value) == "X-Timestamp is 412 s ago; the limit is 300 s; webhook-timestamp is missing"
    with pytest.raises(WebhookVerificationError) as caught:
        webhooks.verify(vector["body"], standard_headers(vector), "whsec_AAAA", now=vector["timestamp"])
    assert str(caught.value).endswith("webhook-signature does not match: the secret is wrong, or the body was changed")
