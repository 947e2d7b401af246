"""The exception for a failed call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from ._calls import Call
from ._retry import Answer, Outcome, retry_after
from .errors import (
    BY_CODE,
    ApiConnectionError,
    ApiError,
    ApiTimeoutError,
    CallError,
    FieldFault,
    Problem,
    UnexpectedAnswerError,
)

E = TypeVar("E", bound=CallError)


def error_of(outcome: Outcome, call: Call, attempts: int) -> CallError:
    """The exception for a failed outcome."""
    key = call.idempotency_key
    if isinstance(outcome, Answer):
        problem = problem_of(outcome, call)
        kind = BY_CODE.get(problem.code or "", ApiError)
        return about(call, kind(problem, attempts=attempts, idempotency_key=key))
    kind_of_fault = ApiTimeoutError if outcome.is_timeout else ApiConnectionError
    what = "no response in time" if outcome.is_timeout else "no response"
    reason = str(outcome.cause) or type(outcome.cause).__name__
    error = kind_of_fault(f"{call}: {what}: {reason}", attempts=attempts, idempotency_key=key)
    error.__cause__ = outcome.cause
    return about(call, error)


def unexpected(call: Call, what: str, attempts: int = 1) -> UnexpectedAnswerError:
    """The exception for a successful answer that cannot be what the caller asked for."""
    return about(call, UnexpectedAnswerError(f"{call}: {what}", attempts=attempts, idempotency_key=call.idempotency_key))


def is_image(status: int, headers: Mapping[str, str]) -> bool:
    """Whether a successful answer may be an image. A proxy may answer with a page to log in."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return status == 200 and kind != "text/html" and not kind.endswith("json") and headers.get("content-length") != "0"


def no_image(call: Call, status: int, headers: Mapping[str, str]) -> UnexpectedAnswerError:
    """The exception for a successful answer that is not an image."""
    kind = headers.get("content-type", "no content type")
    return unexpected(call, f"the image store returned {status} with {kind}, which is empty or not an image")


def about(call: Call, error: E) -> E:
    """The same exception with the id of the job or the batch."""
    error.job_id, error.batch_id = call.job_id, call.batch_id
    return error


def problem_of(answer: Answer, call: Call) -> Problem:
    """The problem that an error answer describes, or one made up for an answer of a proxy."""
    members = _members(answer)
    request_id = answer.headers.get("x-request-id") or None
    if members is None:
        return Problem(
            status=answer.status,
            code=None,
            title="",
            detail=_of_an_image_store(answer) if call.is_foreign else _of_a_proxy(answer),
            request_id=request_id,
            retry_after=retry_after(answer.headers),
        )
    faults = members.get("errors")
    return Problem(
        status=answer.status,
        code=_text(members, "code"),
        title=_text(members, "title") or "",
        detail=_text(members, "detail") or "",
        request_id=_text(members, "request_id") or request_id,
        errors=tuple(
            FieldFault(field=str(it.get("field", "")), message=str(it.get("message", "")))
            for it in (faults if isinstance(faults, list) else [])
            if isinstance(it, dict)
        ),
        retry_after=retry_after(answer.headers),
    )


def _members(answer: Answer) -> Mapping[str, Any] | None:
    if not answer.headers.get("content-type", "").startswith("application/problem+json"):
        return None
    try:
        value = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(members: Mapping[str, Any], name: str) -> str | None:
    value = members.get(name)
    return value if isinstance(value, str) else None


def _of_an_image_store(answer: Answer) -> str:
    why = ": the image was deleted or its URL has expired" if answer.status in (403, 404) else ""
    return f"the image store returned {answer.status}{why}"


def _of_a_proxy(answer: Answer) -> str:
    if 300 <= answer.status < 400 and "location" in answer.headers:
        return f"redirected to {answer.headers['location']}; set base_url to the address of the service itself"
    kind = answer.headers.get("content-type", "no content type")
    return f"the answer is not in the format of the service ({kind}): base_url is wrong, or a proxy in front of it answered"
