"""Which outcomes of a call are worth a repeat, and when. Pure: what is random comes in as an argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

# Seconds before the first repeat, doubled with each further one, up to the most.
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 8.0
# A service that asks for more patience than this gets none: the caller is told, and may have better to do.
LONGEST_RETRY_AFTER = 60.0
# Seconds of nothing but failures after which waiting for a job is given up, if its own time is not over before: enough for a
# service that finishes its pictures, stops and starts again. Not a number of repeats, for a port that refuses is quick.
WHILE_WAITING = 600.0
# Beside all of 5xx: the body came too slowly, too early, too many.
REPEATABLE = (408, 425, 429)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, with the names of its headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    saved_to: Path | None = None

    @property
    def is_success(self) -> bool:
        """Is it any 2xx?"""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """No answer. `is_final` where a repeat would fare no better, such as for a header that cannot be sent."""

    cause: Exception
    is_timeout: bool = False
    is_final: bool = False


Outcome = Answer | Fault


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """The seconds of `Retry-After`, which may also be a date (RFC 9110, section 10.2.3)."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def pause(outcome: Outcome, attempt: int, repeats: int, chance: float) -> float | None:
    """Seconds before the next attempt; `None` for no further one. `attempt` counts from 1, `chance` is 0 to 1."""
    if attempt > repeats or not _is_worth_a_repeat(outcome):
        return None
    if isinstance(outcome, Answer):
        asked = retry_after(outcome.headers)
        if asked is not None:
            return asked if asked <= LONGEST_RETRY_AFTER else None
    # Up to a quarter less, so that clients that failed together do not come back together.
    return min(FIRST_PAUSE * 2.0 ** (attempt - 1), LONGEST_PAUSE) * (1 - chance / 4)


def while_waiting(outcome: Outcome, attempt: int, repeats: int, chance: float) -> float | None:
    """The same while waiting for a job, where time is the end and not a number, unless the caller wants no repeats at all."""
    return pause(outcome, attempt, attempt if repeats > 0 else 0, chance)


def _is_worth_a_repeat(outcome: Outcome) -> bool:
    if isinstance(outcome, Fault):
        return not outcome.is_final
    return outcome.status >= 500 or outcome.status in REPEATABLE
