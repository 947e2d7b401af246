"""Exceptions as values: all are of one kind, and all survive the way between processes."""

from __future__ import annotations

import copy
import pickle

import pytest

import tintype
from peer import JOB_ID, job
from tintype import (
    ArgumentError,
    CallError,
    FieldFault,
    JobError,
    Problem,
    TintypeError,
    WaitTimeoutError,
)
from tintype import errors as kinds
from tintype._wire import job as read_job

ALL = sorted(
    (it for it in vars(kinds).values() if isinstance(it, type) and issubclass(it, TintypeError)), key=lambda it: it.__name__
)
PROBLEM = Problem(
    status=422, code="c", title="t", detail="d", request_id="r", errors=(FieldFault("prompt", "is required"),), retry_after=2.0
)


def made(kind: type[TintypeError]) -> TintypeError:
    if issubclass(kind, kinds.ApiError):
        error: TintypeError = kind(PROBLEM, attempts=3, idempotency_key="k")
    elif issubclass(kind, CallError):
        error = kind("text", attempts=3, idempotency_key="k")
    elif issubclass(kind, JobError):
        error = kind("text", JOB_ID, read_job(job("queued")))
    elif issubclass(kind, kinds.BatchWaitTimeoutError):
        error = kind("text", JOB_ID, None)
    else:
        error = kind("text")
    error.add_note("a note")
    return error


@pytest.mark.parametrize("kind", ALL)
def test_an_exception_comes_out_of_another_process_as_it_went_in(kind: type[TintypeError]) -> None:
    error = made(kind)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301
        assert type(again) is kind
        assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_every_exception_is_the_package_s_own_and_can_be_imported_from_it() -> None:
    assert len(ALL) > 30
    assert {it.__name__ for it in ALL} <= set(tintype.__all__)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"base_url": "http://[::"}, "is no address"),
        ({"base_url": "ftp://h"}, "must begin with http"),
        ({"api_key": "tt_é"}, "characters that no key has"),
        ({"api_key": "tt_a\nb"}, "characters that no key has"),
        ({"api_key": " "}, "no API key"),
    ],
)
def test_a_client_that_cannot_be_is_told_so_when_it_is_made(options: dict[str, str], text: str) -> None:
    with pytest.raises(TintypeError, match=text) as caught:
        tintype.Tintype(**{"api_key": "tt_k", "base_url": "http://h", **options})  # type: ignore[arg-type]
    assert "tt_" not in str(caught.value)


def test_what_is_refused_before_it_is_sent_is_a_value_error_as_well() -> None:
    assert issubclass(ArgumentError, ValueError)
    assert issubclass(WaitTimeoutError, JobError)
