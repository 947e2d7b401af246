#!/usr/bin/env python3
"""Runs the Python of docs/webhooks.md on the golden deliveries, at the time at which each was sent.

The Standard Webhooks library's block runs where the library is installed (see standard.py).

Usage: documentation.py
"""

import datetime
import hashlib
import hmac
import importlib.util
import json
import pathlib
import re
import sys
import time
from unittest import mock

HERE = pathlib.Path(__file__).parent
LIBRARY = "standardwebhooks"


def blocks() -> dict:
    """The definitions in the documentation's Python blocks."""
    text = (HERE / "../../docs/webhooks.md").read_text(encoding="utf-8")
    names: dict = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if LIBRARY not in block or importlib.util.find_spec(LIBRARY):
            exec(compile(block, "docs/webhooks.md", "exec"), names)
    return names


def accepted(payload, secret: str, headers: dict, body: bytes, now: int) -> bool:
    """Does the library's block accept the delivery?"""
    from standardwebhooks.webhooks import WebhookVerificationError

    class Clock(datetime.datetime):
        """The library's clock, fixed at `now`."""

        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(now, tz)

    with mock.patch("standardwebhooks.webhooks.datetime", Clock):
        try:
            return payload(secret, headers, body) == json.loads(body)
        except WebhookVerificationError:
            return False


def checks(names: dict, vector: dict):
    """Pairs of a check's name and its result."""
    body, sent, secret = vector["body"].encode(), vector["timestamp"], vector["secrets"][0]
    headers = {
        "X-Timestamp": str(sent),
        "X-Signature": vector["x_signature"],
        "webhook-id": vector["webhook_id"],
        "webhook-timestamp": str(sent),
        "webhook-signature": vector["webhook_signature"],
    }
    parsed = vector["encoding"] == "ascii"
    for late, holds in ((0, True), (300, True), (301, False), (-301, False)):
        with mock.patch.object(time, "time", lambda late=late: sent + late):
            yield f"raw, {late:+} s", names["verify"](secret, headers, body) == holds
            if parsed:
                yield f"parsed, {late:+} s", names["verify_parsed"](secret, headers, json.loads(body)) == holds
        if "payload" in names:
            yield f"library, {late:+} s", accepted(names["payload"], secret, headers, body, sent + late) == holds
    with mock.patch.object(time, "time", lambda: sent):
        yield "changed body is refused", not names["verify"](secret, headers, body + b" ")
        yield "other secret is refused", not names["verify"](secret + "x", headers, body)
        if parsed:
            changed = json.loads(body) | {"status": "lost"}
            yield "changed payload is refused", not names["verify_parsed"](secret, headers, changed)
        for change in ({"X-Timestamp": "now"}, {"X-Timestamp": "1" * 5000}, {"X-Timestamp": "١٧٩٥"}, {"X-Signature": "é"}, {"X-Signature": "\udcff"}):
            yield f"bad headers are refused: {sorted(change)}", not names["verify"](secret, headers | change, body)
            if parsed:
                yield f"bad headers are refused, parsed: {sorted(change)}", not names["verify_parsed"](secret, headers | change, json.loads(body))
        yield "no headers are refused", not names["verify"](secret, {}, body)
        # What anybody can sign.
        code = hmac.new(b"", f"{sent}.".encode() + body, hashlib.sha256).hexdigest()
        unset = headers | {"X-Signature": f"sha256={code}"}
        yield "an empty secret is refused", not names["verify"]("", unset, body)
        if parsed:
            yield "an empty secret is refused, parsed", not names["verify_parsed"]("", unset, json.loads(body))


def main() -> int:
    vectors = json.loads((HERE / "golden.json").read_text(encoding="utf-8"))["vectors"]
    names = blocks()
    passed = failed = 0
    for vector in vectors:
        for what, holds in checks(names, vector):
            passed, failed = passed + holds, failed + (not holds)
            if not holds:
                print(f"FAILED {vector['name']}: {what}")
    library = "with" if "payload" in names else "without"
    print(f"{passed} passed, {failed} failed ({len(vectors)} deliveries, {library} the library)")
    return 1 if failed or not vectors else 0


if __name__ == "__main__":
    sys.exit(main())
