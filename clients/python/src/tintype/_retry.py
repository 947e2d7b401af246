"""Which failed calls a client repeats, and when. Pure functions: the caller passes the random number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# Seconds before the first repeat. Each further pause is twice as long, up to the longest.
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 8.0
# If the service asks for a longer pause, a single call fails, and the caller decides.
LONGEST_RETRY_AFTER = 60.0
# Seconds of continuous failures after which waiting for a job fails: enough for a service that finishes its images, stops and
# starts again. Time and not a number of repeats, because a closed port refuses connections at once.
WHILE_WAITING = 600.0
# In addition to 5xx: Request Timeout, Too Early, Too Many Requests.
REPEATABLE = (408, 425, 429)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, with the names of its headers in lower case. If `is_saved`, its body is in a file."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_saved: bool = False

    @property
    def is_success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """No answer. `is_final` if a repeat would fail too, such as for an invalid header."""

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
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def pause(
    outcome: Outcome, attempt: int, repeats: int, chance: float, longest: float = LONGEST_RETRY_AFTER, left: float = math.inf
) -> float | None:
    """The seconds before the next attempt; `None` for no further attempt. `attempt` counts from 1, `chance` is 0 to 1."""
    if attempt > repeats or not _is_repeatable(outcome):
        return None
    asked = (retry_after(outcome.headers) if isinstance(outcome, Answer) else None) or 0.0
    if asked > longest:
        return None
    # Up to a quarter less, so that clients that failed together do not retry together.
    own = min(FIRST_PAUSE * 2.0 ** (attempt - 1), LONGEST_PAUSE) * (1 - chance / 4)
    # Not only what the service asks for: without a pause for 0 or a past date, a client would send one request after another.
    return max(asked, min(own, left))


def while_waiting(outcome: Outcome, attempt: int, repeats: int, chance: float, left: float = math.inf) -> float | None:
    """The same while waiting for a job. Time limits it, not the number of repeats, unless the caller wants no repeats.

    Also not the longest `Retry-After`: the caller of this function compares the pause with the time that is left. Only a
    `Retry-After` makes the pause longer than `left`, so that the last attempt is at the end of the time.
    """
    return pause(outcome, attempt, attempt if repeats > 0 else 0, chance, math.inf, left)


def _is_repeatable(outcome: Outcome) -> bool:
    if isinstance(outcome, Fault):
        return not outcome.is_final
    return outcome.status >= 500 or outcome.status in REPEATABLE
