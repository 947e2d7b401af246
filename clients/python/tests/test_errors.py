"""Exceptions as values: all are of one kind, and all survive the way between processes."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace
from typing import Any

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
        ({"base_url": "http://[::"}, "not a valid URL"),
        ({"base_url": "ftp://h"}, "must begin with http"),
        ({"base_url": "https://"}, "must begin with http"),
        ({"base_url": "https://user:hunter2@h"}, "must not contain a user"),
        ({"base_url": "https://h?a=b"}, "must be the address of the service"),
        ({"timeout": 0}, "timeout must be a number"),
        ({"timeout": math.nan}, "timeout must be a number"),
        ({"timeout": "60"}, "timeout must be a number"),
        ({"timeout": None}, "timeout must be a number"),
        ({"max_retries": -1}, "max_retries must be 0 or more"),
        ({"max_retries": None}, "max_retries must be 0 or more"),
        ({"api_key": "tt_é"}, "characters that no key has"),
        ({"api_key": "tt_a\nb"}, "characters that no key has"),
        ({"api_key": " "}, "no API key"),
        ({"api_key": 5}, "api_key must be text"),
        ({"base_url": 5}, "base_url must be text"),
        ({"http_client": object()}, "http_client must be an httpx.Client"),
    ],
)
def test_a_client_with_invalid_options_is_not_created(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ArgumentError, match=text) as caught:
        tintype.Tintype(**{"api_key": "tt_k", "base_url": "http://h", **options})
    assert "tt_" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_message_has_the_first_of_many_faults() -> None:
    faults = tuple(FieldFault(f"requests[{index}].prompt", "is required") for index in range(100))
    error = kinds.ValidationError(replace(PROBLEM, errors=faults))
    assert str(error).endswith("requests[9].prompt: is required; and 90 more (request r)")
    assert len(error.errors) == 100


def test_what_is_refused_before_it_is_sent_is_a_value_error_as_well() -> None:
    assert issubclass(ArgumentError, ValueError)
    assert issubclass(WaitTimeoutError, JobError)
