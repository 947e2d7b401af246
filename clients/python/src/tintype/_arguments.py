"""Checks arguments, so that a mistake is an `ArgumentError` that names it, before anything is sent."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from .errors import ArgumentError


def id_of(ref: object, name: str) -> str:
    """The id of a job or a batch: text, a `UUID`, or the member `name` of an object that a call returned."""
    value = str(ref) if isinstance(ref, UUID) else ref if isinstance(ref, str) else getattr(ref, name, None)
    if not isinstance(value, str):
        raise ArgumentError(f"pass a {name}, or an object that has one, not {ref!r}")
    if not value:
        raise ArgumentError(f"the {name} is empty")
    return value


def key_or_new(idempotency_key: str | None) -> str:
    """The caller's idempotency key, or a new one."""
    if idempotency_key is None:
        return str(uuid4())
    if not isinstance(idempotency_key, str):
        raise ArgumentError(f"idempotency_key must be text, not {idempotency_key!r}")
    # The service rejects an empty key, so that a caller whose order has no number learns of it.
    # Without spaces: HTTP libraries refuse them or strip them at the ends.
    if not all("!" <= character <= "~" for character in idempotency_key):
        raise ArgumentError(f"idempotency_key must have 1 to 255 visible ASCII characters, unlike {idempotency_key!r}")
    return idempotency_key


def timeout(seconds: float) -> float:
    """The timeout of a client."""
    if not _is_number(seconds) or not seconds > 0:
        raise ArgumentError(f"timeout must be a number of seconds above 0, or math.inf, not {seconds!r}")
    return seconds


def wait_timeout(seconds: float | None) -> float | None:
    """The time that a caller wants to wait."""
    if seconds is not None and (not _is_number(seconds) or math.isnan(seconds)):
        raise ArgumentError(f"the time to wait must be a number of seconds, or None, not {seconds!r}")
    return None if seconds == math.inf else seconds


def cancel_after(seconds: float | None) -> Mapping[str, str]:
    """The header that limits how long a job may stay queued."""
    if seconds is None:
        return {}
    if not _is_number(seconds) or not 0 < seconds < math.inf:
        raise ArgumentError(f"cancel_after must be a number of seconds above 0, not {seconds!r}")
    return {"Cancel-After": f"{math.ceil(seconds)}s"}


def max_retries(count: int) -> int:
    """How often a client repeats a call."""
    if not isinstance(count, int) or count < 0:
        raise ArgumentError(f"max_retries must be 0 or more, not {count!r}")
    return count


def http_client(given: object, kind: type) -> None:
    """Checks the caller's own HTTP client."""
    if given is not None and not isinstance(given, kind):
        raise ArgumentError(f"http_client must be an httpx.{kind.__name__}, not {type(given).__name__}")


def path(given: object) -> Path:
    """The path of a file."""
    text = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(text, str) or not text or "\0" in text:
        raise ArgumentError(f"path must be the path of a file, not {given!r}")
    return Path(text)


def urls(given: object) -> list[str]:
    """The URLs of input images."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentError(f"input_images_urls must be a list of URLs, not {given!r}")
    return list(given)


def requests(given: object) -> list[Mapping[str, Any]]:
    """The requests of a batch."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise ArgumentError(f"requests must be a list of dicts, not {type(given).__name__}")
    entries = list(given)
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            raise ArgumentError(f"requests[{index}] must be a dict, not {type(entry).__name__}")
    return entries


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
