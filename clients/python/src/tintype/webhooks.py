"""Verifies webhook deliveries by `X-Signature` or the `webhook-signature` of Standard Webhooks. One of them suffices."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, TypeVar

from . import _wire
from .errors import ArgumentError, WebhookVerificationError
from .types import BatchCounts, Result

# Maximum difference between the time of a delivery and the clock, in seconds.
TOLERANCE = 300
PREFIX = "whsec_"
# The headers that take part in the verification.
SIGNED = frozenset({"x-signature", "x-timestamp", "webhook-id", "webhook-timestamp", "webhook-signature"})

T = TypeVar("T")


class Headers(Protocol):
    """The headers of a request, as frameworks pass them. The case of names does not matter."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Names and values."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEvent:
    """A job or a batch ended. A delivery may arrive more than once, so use the id as the key of your processing.

    For a job, `batch_id` and `counts` are `None`. For a batch, `job_id`, `result` and `error` are `None`, and `status` is
    `"ended"`.
    """

    job_id: str | None
    batch_id: str | None
    status: Literal["done", "failed", "ended"]
    counts: BatchCounts | None
    result: Result | None
    error: str | None
    metadata: Mapping[str, Any] | None
    delivery_id: str | None
    """The same for all attempts of a delivery; `None` if only `X-Signature` verified, which does not cover it."""
    sent_at: datetime

    @property
    def is_test(self) -> bool:
        """Whether it is a test delivery."""
        return self.status == "done" and self.result is None and self.metadata == {"test": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorEvent:
    """An event for the operator. It may arrive more than once, so use `event_id` as the key of your processing."""

    type: str
    """Such as `"backend.down"`. Ignore unknown types, because new ones may be added."""
    data: Mapping[str, Any]
    """The members that the documentation lists for this type, as the JSON has them."""
    version: int
    created_at: datetime
    event_id: str | None
    """The same for all attempts of an event; `None` if only `X-Signature` verified, which does not cover it."""
    sent_at: datetime


def verify(
    body: bytes | str,
    headers: Headers,
    secret: str | Iterable[str],
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> WebhookEvent:
    """The event of an authentic and recent delivery. Raises `WebhookVerificationError` for every other.

    `body` is the raw body, unparsed. `secret` is that of the webhook, including `whsec_`; pass several while you replace it.
    `now` is in Unix seconds and defaults to the clock. If your framework has only the parsed body, pass `json.dumps(payload)`:
    `verify` serializes it as the service did, which works for webhooks with the encoding `ascii`.
    """
    return _verified(body, headers, secret, tolerance, now, _event)


def verify_operator_event(
    body: bytes | str,
    headers: Headers,
    secret: str | Iterable[str],
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> OperatorEvent:
    """As `verify`, for events that the service sends to `[operator] webhook_url`.

    `secret` is `[operator] webhook_secret`, and the encoding is `ascii`.
    """
    return _verified(body, headers, secret, tolerance, now, _operator_event)


def _verified(
    body: bytes | str,
    headers: Headers,
    secret: str | Iterable[str],
    tolerance: float,
    now: float | None,
    read: Callable[[_wire.Json, str | None, datetime], T],
) -> T:
    """The event of an authentic and recent delivery. `read` takes its body, its id if a signature covers it, and its time."""
    raw = _raw(body)
    if not callable(getattr(headers, "items", None)):
        raise ArgumentError(f"headers must be a mapping of names to values, not {type(headers).__name__}")
    given = _texts(headers)
    secrets = _secrets(secret)
    clock = time.time() if now is None else now
    standard = _standard_signature(raw, given, secrets, clock, tolerance)
    if isinstance(standard, int):
        return _parsed(raw, given["webhook-id"], standard, read)
    own = _x_signature(raw, given, secrets, clock, tolerance)
    if isinstance(own, int):
        return _parsed(raw, None, own, read)
    raise WebhookVerificationError(f"{own}; {standard}")


def _raw(body: bytes | str) -> bytes:
    if isinstance(body, str):
        return _bytes(body)
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    raise ArgumentError(
        f"body must be the raw body as bytes or text, not {type(body).__name__}: request.get_data() in Flask, request.body in"
        " Django, await request.body() in FastAPI"
    )


def _texts(headers: Headers) -> dict[str, str]:
    """The headers of a delivery by their names in lower case."""
    given: dict[str, str] = {}
    for name, value in headers.items():
        if not isinstance(name, str):
            raise ArgumentError(f"headers must map text to text; a name is {type(name).__name__}: decode it first")
        if name.lower() in SIGNED and value is not None:
            if not isinstance(value, str):
                raise ArgumentError(f"headers must map text to text; {name} is {type(value).__name__}")
            given[name.lower()] = value
    return given


def _secrets(secret: str | Iterable[str]) -> list[str]:
    texts = [secret] if isinstance(secret, str) or not isinstance(secret, Iterable) else list(secret)
    for text in texts:
        if text is not None and not isinstance(text, str):
            raise ArgumentError(f"secret must be text, or a list of texts, not {type(secret).__name__}")
    # An attacker can sign with an empty key, and an unset environment variable is one.
    secrets = [text for it in texts if it is not None and (text := it.strip()).removeprefix(PREFIX)]
    if not secrets:
        raise WebhookVerificationError("no secret was given")
    return secrets


def _x_signature(raw: bytes, headers: Mapping[str, str], secrets: Iterable[str], now: float, tolerance: float) -> int | str:
    """The time of the delivery, or why it does not verify. The key is the whole text of the secret."""
    moment = _moment("X-Timestamp", headers, now, tolerance)
    if isinstance(moment, str):
        return moment
    given = _bytes(headers.get("x-signature", ""))
    if not given:
        return "X-Signature is missing"
    # The service signed the raw bytes. A proxy or a framework may have serialized them again, so try these forms too.
    for text in (raw, *_rewritten(raw)):
        for secret in secrets:
            code = hmac.new(_bytes(secret), b"%d." % moment + text, hashlib.sha256).hexdigest()
            if hmac.compare_digest(f"sha256={code}".encode(), given):
                return moment
    return "X-Signature does not match: the secret is wrong, or the body was changed"


def _standard_signature(
    raw: bytes, headers: Mapping[str, str], secrets: Iterable[str], now: float, tolerance: float
) -> int | str:
    """The time of the delivery, or why it does not verify. The key is the decoded text after `whsec_`."""
    moment = _moment("webhook-timestamp", headers, now, tolerance)
    if isinstance(moment, str):
        return moment
    delivery = headers.get("webhook-id", "")
    entries = _bytes(headers.get("webhook-signature", "")).split()
    if not delivery or not entries:
        return "webhook-id or webhook-signature is missing"
    for key in _keys(secrets):
        code = hmac.new(key, _bytes(f"{delivery}.{moment}.") + raw, hashlib.sha256).digest()
        expected = b"v1," + base64.b64encode(code)
        if any(hmac.compare_digest(expected, entry) for entry in entries):
            return moment
    return "webhook-signature does not match: the secret is wrong, or the body was changed"


def _moment(name: str, headers: Mapping[str, str], now: float, tolerance: float) -> int | str:
    text = headers.get(name.lower(), "")
    if not text:
        return f"{name} is missing"
    # Exactly as signed: no blank, sign or leading zero.
    if not (text.isascii() and text.isdigit() and str(int(text[:20])) == text):
        return f"{name} is not a time in seconds"
    age = now - int(text)
    # Written so that a tolerance of NaN accepts nothing.
    if not abs(age) <= tolerance:
        return f"{name} is {abs(age):.0f} s {'ago' if age > 0 else 'ahead'}; the limit is {tolerance:g} s"
    return int(text)


def _rewritten(raw: bytes) -> Iterable[bytes]:
    """The body as the service serializes it, for webhooks with the encoding `ascii`, and for most with `utf8`."""
    try:
        value = json.loads(raw)
        for ensure_ascii in (True, False):
            text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=ensure_ascii)
            yield text.encode()
    except (ValueError, RecursionError):
        return


def _keys(secrets: Iterable[str]) -> Iterable[bytes]:
    for secret in secrets:
        try:
            yield base64.b64decode(secret.removeprefix(PREFIX), validate=True)
        except (binascii.Error, ValueError):
            continue


def _bytes(text: str) -> bytes:
    # Some frameworks pass invalid UTF-8 as lone surrogates. They must not verify, and must not raise.
    return text.encode("utf-8", "surrogatepass")


def _parsed(raw: bytes, given_id: str | None, sent: int, read: Callable[[_wire.Json, str | None, datetime], T]) -> T:
    try:
        return _wire.parse(raw, lambda value: read(value, given_id, datetime.fromtimestamp(sent, UTC)))
    except _wire.MalformedError as error:
        raise WebhookVerificationError(f"the signature verifies, but the body is not a delivery: {error}") from None


def _event(value: _wire.Json, delivery_id: str | None, sent_at: datetime) -> WebhookEvent:
    if "type" in value and "version" in value:
        raise _wire.MalformedError("it is an operator event; use verify_operator_event")
    is_batch = "batch_id" in value
    result = None if is_batch else value["result"]
    return WebhookEvent(
        job_id=None if is_batch else value["job_id"],
        batch_id=value["batch_id"] if is_batch else None,
        status=value["status"],
        counts=_wire.counts(value["counts"]) if is_batch else None,
        result=None if result is None else Result(image_url=result["image_url"]),
        error=None if is_batch else value["error"],
        metadata=value["metadata"],
        delivery_id=delivery_id,
        sent_at=sent_at,
    )


def _operator_event(value: _wire.Json, event_id: str | None, sent_at: datetime) -> OperatorEvent:
    return OperatorEvent(
        type=value["type"],
        data=value["data"],
        version=value["version"],
        created_at=datetime.fromisoformat(value["created_at"]),
        event_id=event_id,
        sent_at=sent_at,
    )
