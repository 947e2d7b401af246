"""When a call is sent again, and after how long."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from tintype._retry import Answer, Fault, pause, retry_after, while_waiting


def answer(status: int, **headers: str) -> Answer:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, headers=names, body=b"")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 520, 524])
def test_a_passing_failure_is_repeated(status: int) -> None:
    assert pause(answer(status), 1, 2, 0.0) == 0.5


@pytest.mark.parametrize("status", [301, 400, 401, 402, 403, 404, 405, 409, 410, 413, 415, 416, 422])
def test_a_refusal_is_not(status: int) -> None:
    assert pause(answer(status, retry_after="1"), 1, 2, 0.0) is None


def test_no_answer_is_repeated_but_not_one_that_cannot_come() -> None:
    assert pause(Fault(cause=OSError()), 1, 2, 0.0) == 0.5
    assert pause(Fault(cause=OSError(), is_timeout=True), 1, 2, 0.0) == 0.5
    assert pause(Fault(cause=OSError(), is_final=True), 1, 2, 0.0) is None


def test_pauses_double_up_to_eight_seconds_less_a_quarter_by_chance() -> None:
    assert [pause(answer(500), attempt, 9, 0.0) for attempt in range(1, 8)] == [0.5, 1, 2, 4, 8, 8, 8]
    assert pause(answer(500), 3, 9, 1.0) == 1.5


def test_only_so_many_repeats_are_made() -> None:
    assert pause(answer(503), 2, 2, 0.0) is not None
    assert pause(answer(503), 3, 2, 0.0) is None
    assert pause(answer(503), 1, 0, 0.0) is None


def test_retry_after_is_honoured_in_full_up_to_a_minute() -> None:
    assert pause(answer(503, retry_after="30"), 1, 2, 1.0) == 30
    assert pause(answer(503, retry_after="60"), 1, 2, 0.0) == 60
    assert pause(answer(503, retry_after="61"), 1, 2, 0.0) is None


def test_retry_after_is_limited_by_the_time_of_a_wait_only() -> None:
    assert while_waiting(answer(503, retry_after="90"), 1, 2, 0.0) == 90
    assert while_waiting(answer(503, retry_after="90"), 1, 0, 0.0) is None


@pytest.mark.parametrize("text", ["0", "1", "Sat, 21 Nov 2015 20:00:07 GMT"])
def test_a_shorter_retry_after_does_not_shorten_the_pauses(text: str) -> None:
    pauses = [while_waiting(answer(503, retry_after=text), attempt, 2, 0.0) for attempt in range(2, 7)]
    assert pauses == [1, 2, 4, 8, 8]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5", 5.0),
        (" 5 ", 5.0),
        ("Sat, 21 Nov 2026 20:00:07 GMT", 7.0),
        ("Sat, 21 Nov 2026 19:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("Sat, 21 Nov 2026 20:00:07 +9999999999999999", None),
        ("9" * 5000, math.inf),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}, datetime(2026, 11, 21, 20, 0, 0, tzinfo=UTC)) == seconds
