"""Reads the service's JSON into the types of this package. It ignores unknown fields, because new ones may be added."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from .types import (
    Balance,
    Batch,
    BatchCounts,
    BatchEstimate,
    BatchResult,
    CreatedBatch,
    CreatedJob,
    Estimate,
    Job,
    Key,
    ListedJob,
    Model,
    Page,
    ProgressEvent,
    QueueEvent,
    RateLimit,
    Result,
    Transaction,
    Usage,
)

T = TypeVar("T")
Json = Mapping[str, Any]


class MalformedError(Exception):
    """An answer that the service does not send."""


def parse(body: bytes | str, read: Callable[[Json], T]) -> T:
    """The typed form of a JSON object."""
    try:
        value = json.loads(body)
        if not isinstance(value, dict):
            raise MalformedError("it is not a JSON object")
        return read(value)
    except KeyError as error:
        raise MalformedError(f"it has no field {error}") from None
    except (ValueError, TypeError, AttributeError, InvalidOperation, RecursionError) as error:
        raise MalformedError(str(error) or type(error).__name__) from None


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _optional(value: Any, read: Callable[[Any], T]) -> T | None:  # noqa: ANN401
    return None if value is None else read(value)


def created(value: Json, idempotency_key: str, replayed: bool) -> CreatedJob:
    """The 202 of a generation call."""
    return CreatedJob(
        job_id=value["job_id"],
        status=value["status"],
        status_url=value["status_url"],
        idempotency_key=idempotency_key,
        replayed=replayed,
    )


def estimate(value: Json) -> Estimate:
    """The answer of a dry run."""
    return Estimate(
        price=Decimal(value["price"]),
        tier=value["tier"],
        mode=value["mode"],
        aspect_ratio=value["aspect_ratio"],
        resolution=value["resolution"],
        available=Decimal(value["available"]),
    )


def _job_fields(value: Json) -> dict[str, Any]:
    return {
        "job_id": value["job_id"],
        "status": value["status"],
        "created_at": _moment(value["created_at"]),
        "started_at": _optional(value["started_at"], _moment),
        "finished_at": _optional(value["finished_at"], _moment),
        "result": _optional(value["result"], lambda it: Result(image_url=it["image_url"])),
        "error": value["error"],
        "queue_position": value.get("queue_position"),
        "estimated_start_at": _optional(value.get("estimated_start_at"), _moment),
    }


def job(value: Json) -> Job:
    """A job."""
    return Job(**_job_fields(value))


def listed_job(value: Json) -> ListedJob:
    """A job in a list."""
    return ListedJob(
        **_job_fields(value),
        tier=value["tier"],
        mode=value["mode"],
        aspect_ratio=value["aspect_ratio"],
        resolution=value["resolution"],
        price=Decimal(value["price"]),
        key_id=value["key_id"],
        batch_id=value.get("batch_id"),
        custom_id=value.get("custom_id"),
    )


def counts(value: Json) -> BatchCounts:
    """The numbers of a batch's jobs by state."""
    names = ("total", "queued", "processing", "done", "failed")
    return BatchCounts(**{name: int(value[name]) for name in names})


def _batch_fields(value: Json) -> dict[str, Any]:
    return {
        "batch_id": value["batch_id"],
        "status": value["status"],
        "created_at": _moment(value["created_at"]),
        "ended_at": _optional(value["ended_at"], _moment),
        "counts": counts(value["counts"]),
        "price": Decimal(value["price"]),
        "charged": Decimal(value["charged"]),
        "metadata": value["metadata"],
        "results_url": value["results_url"],
    }


def batch(value: Json) -> Batch:
    """A batch."""
    return Batch(**_batch_fields(value))


def created_batch(value: Json, idempotency_key: str, replayed: bool) -> CreatedBatch:
    """The 202 of a batch."""
    return CreatedBatch(**_batch_fields(value), idempotency_key=idempotency_key, replayed=replayed)


def batch_estimate(value: Json) -> BatchEstimate:
    """The answer of a dry run of a batch."""
    return BatchEstimate(price=Decimal(value["price"]), requests=int(value["requests"]), available=Decimal(value["available"]))


def batch_result(value: Json) -> BatchResult:
    """A line of a batch's results."""
    return BatchResult(
        custom_id=value["custom_id"],
        job_id=value["job_id"],
        status=value["status"],
        result=_optional(value["result"], lambda it: Result(image_url=it["image_url"])),
        error=value["error"],
    )


def queue(value: Json) -> QueueEvent:
    """The queue position of a job."""
    return QueueEvent(
        job_id=value["job_id"],
        queue_position=int(value["queue_position"]),
        estimated_start_at=_optional(value.get("estimated_start_at"), _moment),
    )


def progress(value: Json) -> ProgressEvent:
    """The progress of a job."""
    return ProgressEvent(job_id=value["job_id"], progress=float(value["progress"]))


def balance(value: Json) -> Balance:
    """The balance of the account."""
    return Balance(
        balance=Decimal(value["balance"]),
        reserved=Decimal(value["reserved"]),
        available=Decimal(value["available"]),
    )


def transaction(value: Json) -> Transaction:
    """An entry of the ledger."""
    return Transaction(
        transaction_id=value["transaction_id"],
        kind=value["kind"],
        amount=Decimal(value["amount"]),
        balance_after=Decimal(value["balance_after"]),
        job_id=value["job_id"],
        reference=value["reference"],
        created_at=_moment(value["created_at"]),
    )


def usage(value: Json) -> Usage:
    """A line of the usage."""
    return Usage(
        day=date.fromisoformat(value["day"]),
        key_id=value["key_id"],
        key_name=value["key_name"],
        model=value["model"],
        resolution=value["resolution"],
        images=int(value["images"]),
        failed=int(value["failed"]),
        charged=Decimal(value["charged"]),
    )


def model(value: Json) -> Model:
    """A tier."""
    return Model(
        id=value["id"],
        modes=tuple(value["modes"]),
        aspect_ratios=tuple(value["aspect_ratios"]),
        resolutions=tuple(value["resolutions"]),
        prices={size: Decimal(price) for size, price in value["prices"].items()},
        paused=value["paused"],
        paused_reason=value.get("paused_reason"),
        allowed=value["allowed"],
    )


def models(value: Json) -> tuple[Model, ...]:
    """All tiers. The service sends them on one page."""
    return tuple(model(it) for it in value["data"])


def key(value: Json) -> Key:
    """The caller's key."""
    return Key(
        key_id=value["key_id"],
        name=value["name"],
        models=tuple(value["models"]),
        active=value["active"],
        expires_at=_optional(value["expires_at"], _moment),
        spend_limit=_optional(value["spend_limit"], Decimal),
        spent=Decimal(value["spent"]),
        reserved=_optional(value.get("reserved"), Decimal),
        spend_limit_monthly=_optional(value.get("spend_limit_monthly"), Decimal),
        spent_this_month=_optional(value.get("spent_this_month"), Decimal),
        spend_limit_daily=_optional(value.get("spend_limit_daily"), Decimal),
        spent_today=_optional(value.get("spent_today"), Decimal),
        rate_limit=_optional(value["rate_limit"], lambda it: RateLimit(per_second=it["per_second"], burst=it["burst"])),
        max_concurrent=value.get("max_concurrent"),
        allowed_ips=tuple(ips) if (ips := value.get("allowed_ips")) else None,
        created_at=_moment(value["created_at"]),
    )


def page(read: Callable[[Json], T]) -> Callable[[Json], Page[T]]:
    """Reads a page of a list."""
    return lambda value: Page(data=tuple(read(it) for it in value["data"]), next_cursor=value["next_cursor"])
