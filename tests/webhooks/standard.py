#!/usr/bin/env python3
"""Verifies the golden deliveries with the `standardwebhooks` library of PyPI, at the time at which each was sent.

Usage: python3 -m venv V && V/bin/pip install standardwebhooks==1.1.0 && V/bin/python standard.py [golden.json]
"""

import datetime
import json
import pathlib
import sys
from unittest import mock

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


class Clock(datetime.datetime):
    """The library's clock, fixed at `moment`."""

    moment = 0

    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(cls.moment, tz)


def verifies(secret: str, headers: dict, body: str, now: int) -> bool:
    Clock.moment = now
    try:
        Webhook(secret).verify(body, headers)
        return True
    except WebhookVerificationError:
        return False


def checks(vector: dict):
    """Pairs of a check's name and its result."""
    body, sent = vector["body"], vector["timestamp"]
    headers = {
        "webhook-id": vector["webhook_id"],
        "webhook-timestamp": str(sent),
        "webhook-signature": vector["webhook_signature"],
    }
    for age, secret in enumerate(vector["secrets"]):
        yield f"secret {age}", verifies(secret, headers, body, sent)
    first = vector["secrets"][0]
    for late in (-300, 300):
        yield f"clock {late:+} s", verifies(first, headers, body, sent + late)
    for late in (-301, 301):
        yield f"clock {late:+} s is refused", not verifies(first, headers, body, sent + late)
    yield "changed body is refused", not verifies(first, headers, body + " ", sent)
    yield "other id is refused", not verifies(first, headers | {"webhook-id": "other"}, body, sent)


def main() -> int:
    default = pathlib.Path(__file__).with_name("golden.json")
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    vectors = json.loads(path.read_text(encoding="utf-8"))["vectors"]
    passed = failed = 0
    with mock.patch("standardwebhooks.webhooks.datetime", Clock):
        for vector in vectors:
            for what, holds in checks(vector):
                passed, failed = passed + holds, failed + (not holds)
                if not holds:
                    print(f"FAILED {vector['name']}: {what}")
    print(f"{passed} passed, {failed} failed ({len(vectors)} deliveries)")
    return 1 if failed or not vectors else 0


if __name__ == "__main__":
    sys.exit(main())
