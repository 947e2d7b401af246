"""Verifies webhook deliveries: `X-Signature`, or the `webhook-signature` of Standard Webhooks; one of the two suffices."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from . import _wire
from .errors import WebhookVerificationError
from .types import BatchCounts, Result

# Seconds that a delivery may be away from the clock, in either direction.
TOLERANCE = 300
PREFIX = "whsec_"


class Headers(Protocol):
    """The headers of a request, as any framework has them; in whatever case."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Names and values."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEvent:
    """A job or a batch is over. A delivery may come more than once: use the id as the key of what you do with it.

    Of a job `batch_id` and `counts` are `None`. Of a batch `job_id`, `result` and `error` are, and `status` is `"ended"`.
    """

    job_id: str | None
    batch_id: str | None
    status: Literal["done", "failed", "ended"]
    counts: BatchCounts | None
    result: Result | None
    error: str | None
    metadata: Mapping[str, Any] | None
    # The same over all attempts of one delivery; `None` where only `X-Signature` verified, which does not cover it: whoever
    # repeats a delivery could put anything there.
    delivery_id: str | None
    sent_at: datetime

    @property
    def is_test(self) -> bool:
        """Was it sent by hand, to try the webhook out?"""
        return self.status == "done" and self.result is None and self.metadata == {"test": True}


def verify(
    body: bytes | str,
    headers: Headers,
    secret: str | Iterable[str],
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> WebhookEvent:
    """The event of a delivery that is genuine and fresh; raises `WebhookVerificationError` for any other.

    `body` is what came, unparsed. `secret` is the webhook's, `whsec_` included; several while it is being replaced. `now` is
    in Unix seconds, the clock's if left out. Where a framework hands out the parsed body only, pass `json.dumps(payload)`:
    it is written again as it was signed, which succeeds for webhooks of encoding `ascii`.
    """
    raw = _bytes(body) if isinstance(body, str) else bytes(body)
    given = {name.lower(): value for name, value in headers.items()}
    texts = (it.strip() for it in ([secret] if isinstance(secret, str) else secret))
    # Anybody can sign with an empty key, and a variable that is not set makes one.
    secrets = [it for it in texts if it.removeprefix(PREFIX)]
    if not secrets:
        raise WebhookVerificationError("no secret was given")
    clock = time.time() if now is None else now
    standard = _standard_signature(raw, given, secrets, clock, tolerance)
    if isinstance(standard, int):
        return _event(raw, given["webhook-id"], standard)
    own = _x_signature(raw, given, secrets, clock, tolerance)
    if isinstance(own, int):
        return _event(raw, None, own)
    raise WebhookVerificationError(f"{own}; {standard}")


def _x_signature(raw: bytes, headers: Mapping[str, str], secrets: Iterable[str], now: float, tolerance: float) -> int | str:
    """When it was sent, or why it is refused. The key is the secret's whole text."""
    moment = _moment("X-Timestamp", headers, now, tolerance)
    if isinstance(moment, str):
        return moment
    given = _bytes(headers.get("x-signature", ""))
    if not given:
        return "X-Signature is missing"
    # The bytes as they came are what was signed. Something on the way may have written them again, so that is tried as well.
    for text in (raw, *_rewritten(raw)):
        for secret in secrets:
            code = hmac.new(_bytes(secret), b"%d." % moment + text, hashlib.sha256).hexdigest()
            if hmac.compare_digest(f"sha256={code}".encode(), given):
                return moment
    return "X-Signature does not match: another secret, or a changed body"


def _standard_signature(
    raw: bytes, headers: Mapping[str, str], secrets: Iterable[str], now: float, tolerance: float
) -> int | str:
    """When it was sent, or why it is refused. The key is what the text after `whsec_` decodes to."""
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
    return "webhook-signature does not match: another secret, or a changed body"


def _moment(name: str, headers: Mapping[str, str], now: float, tolerance: float) -> int | str:
    text = headers.get(name.lower(), "")
    if not text:
        return f"{name} is missing"
    # Digits as they are written, for they are signed: no blank, sign or leading zero.
    if not (text.isascii() and text.isdigit() and str(int(text[:20])) == text):
        return f"{name} is no time in seconds"
    age = now - int(text)
    if abs(age) > tolerance:
        return f"{name} is {abs(age):.0f} s {'ago' if age > 0 else 'ahead'}; more than {tolerance:g} s is refused"
    return int(text)


def _rewritten(raw: bytes) -> Iterable[bytes]:
    """The body written again as it may have been signed: for webhooks of encoding `ascii`, and for most of `utf8`."""
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
    # What is no UTF-8 comes from some frameworks as lone surrogates. They are in nothing that is genuine, and must not raise.
    return text.encode("utf-8", "surrogatepass")


def _event(raw: bytes, delivery_id: str | None, sent: int) -> WebhookEvent:
    def read(value: _wire.Json) -> WebhookEvent:
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
            sent_at=datetime.fromtimestamp(sent, UTC),
        )

    try:
        return _wire.parse(raw, read)
    except _wire.MalformedError as error:
        raise WebhookVerificationError(f"the signature verifies, but the body is no delivery: {error}") from None
