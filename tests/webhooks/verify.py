#!/usr/bin/env python3
"""Verifies the golden deliveries with Python's standard library alone, as a receiver would.

Re-serializing with `json.dumps(..., sort_keys=True, separators=(",", ":"))` verifies every delivery of encoding `ascii`.
With `ensure_ascii=False` it verifies those of encoding `utf8`, except where Python spells a number from 1e-9 to below 1e-4
("small-float") or orders names beyond U+FFFF ("astral-order") in its own way; their raw bytes verify, as all do.

Usage: verify.py [golden.json]
"""

import base64
import decimal
import hashlib
import hmac
import json
import pathlib
import sys

TOLERANCE_SECONDS = 300


def x_signature(secret: str, timestamp: str, text: bytes) -> str:
    """The key is the whole text of the secret, including `whsec_`."""
    code = hmac.new(secret.encode(), timestamp.encode() + b"." + text, hashlib.sha256)
    return "sha256=" + code.hexdigest()


def webhook_signature(secret: str, delivery: str, timestamp: str, body: bytes) -> str:
    """The key is the decoded text after `whsec_`."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    text = f"{delivery}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()


def reserialized(body: bytes, ensure_ascii: bool = True) -> bytes:
    value = json.loads(body)
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=ensure_ascii)
    return text.encode()


def verifies(secret: str, headers: dict, text: bytes, now: int) -> bool:
    """A receiver's check; `text` is the raw or re-serialized body."""
    if abs(now - int(headers["X-Timestamp"])) > TOLERANCE_SECONDS:
        return False
    return hmac.compare_digest(x_signature(secret, headers["X-Timestamp"], text), headers["X-Signature"])


def sent_number(text: str):
    """The `ascii` form of a number with a fraction or an exponent: digits only if it is whole and below 1e21."""
    value = float(text)
    if value.is_integer() and abs(value) < 1e21:
        return int(decimal.Decimal(repr(value)))
    return value


def expected_body(vector: dict) -> bytes:
    """The `ascii` body, computed from the request only."""
    metadata = None
    if vector["metadata"] is not None:
        given = json.loads(vector["metadata"], parse_float=sent_number)
        metadata = {name: value for name, value in given.items() if not name.startswith("_")}
    if vector["kind"] == "test":
        metadata = {"test": True}
    payload = {
        "job_id": vector["job_id"],
        "status": "failed" if vector["kind"] == "failed" else "done",
        "result": {"image_url": vector["image_url"]} if vector["kind"] == "done" else None,
        "error": vector["error"],
        "metadata": metadata,
    }
    return json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()


def checks(vector: dict):
    """Pairs of a check's name and its result."""
    secrets, sent = vector["secrets"], vector["timestamp"]
    body = vector["body"].encode()
    headers = {"X-Timestamp": str(sent), "X-Signature": vector["x_signature"]}

    yield "raw bytes", verifies(secrets[0], headers, body, sent)
    for late in (-300, 300):
        yield f"clock {late:+} s", verifies(secrets[0], headers, body, sent + late)
    for late in (-301, 301):
        yield f"clock {late:+} s is refused", not verifies(secrets[0], headers, body, sent + late)
    yield "changed body is refused", not verifies(secrets[0], headers, body.replace(b"job_id", b"job_ie"), sent)
    yield "other secret is refused", not verifies(secrets[0][:-2] + "==", headers, body, sent)

    listed = [webhook_signature(secret, vector["webhook_id"], str(sent), body) for secret in secrets]
    yield "webhook-signature", listed == vector["webhook_signature"].split(" ")

    if vector["encoding"] == "ascii":
        yield "bytes from 0x20 to 0x7e alone", all(0x20 <= byte <= 0x7E for byte in body)
        yield "re-serialized", verifies(secrets[0], headers, reserialized(body), sent)
        yield "body as the request asks", body == expected_body(vector)
    else:
        own = {"small-float", "astral-order"}.intersection(vector["differs"])
        verified = verifies(secrets[0], headers, reserialized(body, ensure_ascii=False), sent)
        yield f"re-serialized raw: {'differs' if own else 'verifies'}", verified != bool(own)


def main() -> int:
    default = pathlib.Path(__file__).with_name("golden.json")
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    vectors = json.loads(path.read_text(encoding="utf-8"))["vectors"]
    passed = failed = 0
    for vector in vectors:
        for what, holds in checks(vector):
            passed, failed = passed + holds, failed + (not holds)
            if not holds:
                print(f"FAILED {vector['name']}: {what}")
    print(f"{passed} passed, {failed} failed ({len(vectors)} deliveries)")
    return 1 if failed or not vectors else 0


if __name__ == "__main__":
    sys.exit(main())
