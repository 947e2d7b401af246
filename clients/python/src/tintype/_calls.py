"""The calls of the interface as data: what is sent, apart from how."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack
from urllib.parse import quote
from uuid import uuid4

from .errors import ArgumentError
from .types import Batch, BatchRequest, CreatedJob, GenerationParams, Job, JobFilter, JsonValue

PREFIX = "/api/v1"
PATHS = {"fast": "/nb", "quality": "/nb2", "pro": ""}
JobRef = str | Job | CreatedJob
BatchRef = str | Batch
Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. Each may be sent again: those that make something carry an idempotency key."""

    method: str
    # Below the address of the service; or a whole URL, to which no API key is sent.
    path: str
    query: Query = ()
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    # Seconds that the service may take on purpose, beyond the time-out.
    patience: float = 0.0
    # Seconds after which an answer is of no more use, however long the time-out.
    limit: float | None = None
    # Where the body of the answer goes, if not into memory.
    save_to: Path | None = None

    @property
    def is_foreign(self) -> bool:
        """Does it go to an address that the service has named, which may be a bucket's?"""
        return not self.path.startswith("/")


def id_of(job: JobRef) -> str:
    """The id of a job, however it is named."""
    name = job if isinstance(job, str) else job.job_id
    if not name:
        raise ArgumentError("the job_id is empty")
    return name


def job_path(job: JobRef) -> str:
    """Where a job is."""
    return f"{PREFIX}/jobs/{quote(id_of(job), safe='')}"


def key_or_new(idempotency_key: str | None) -> str:
    """The caller's name for a request, or a new one."""
    # An empty one is sent, and refused: whose order has no number must hear of it.
    return str(uuid4()) if idempotency_key is None else idempotency_key


def generation(idempotency_key: str | None, **params: Unpack[GenerationParams]) -> Call:
    """A generation call; one that is only tried out where there is no key."""
    tier = params.get("tier")
    if tier not in PATHS:
        raise ArgumentError(f"tier must be one of {', '.join(PATHS)}, not {tier!r}")
    body = {name: value for name, value in params.items() if name != "tier" and value is not None}
    urls = params.get("input_images_urls")
    if urls is not None:
        if isinstance(urls, str):
            raise ArgumentError("input_images_urls must be a list of URLs, not one")
        body["input_images_urls"] = list(urls)
    mode = "text" if urls is None else "url"
    return _creation(f"{PREFIX}{PATHS[tier]}/{mode}-generations", body, idempotency_key)


def batch(
    requests: Iterable[BatchRequest],
    idempotency_key: str | None,
    metadata: Mapping[str, JsonValue] | None,
    callback_url: str | None,
) -> Call:
    """The call that makes a batch; one that is only tried out where there is no key."""
    body: dict[str, object] = {"requests": [_entry(it) for it in requests]}
    beside = {"metadata": metadata, "callback_url": callback_url}
    body.update({name: value for name, value in beside.items() if value is not None})
    return _creation(f"{PREFIX}/batches", body, idempotency_key)


def _entry(request: BatchRequest) -> dict[str, object]:
    entry: dict[str, object] = {name: value for name, value in request.items() if value is not None}
    urls = request.get("input_images_urls")
    if urls is not None:
        if isinstance(urls, str):
            raise ArgumentError("input_images_urls must be a list of URLs, not one")
        entry["input_images_urls"] = list(urls)
    return entry


def _creation(path: str, body: object, idempotency_key: str | None) -> Call:
    headers = {"Content-Type": "application/json"}
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    try:
        # What JSON has no word for, such as NaN, is refused here rather than there.
        text = json.dumps(body, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"the request cannot be written as JSON: {error}") from None
    return Call(
        method="POST",
        path=path,
        query=() if idempotency_key is not None else (("dry_run", "true"),),
        body=text.encode(),
        headers=headers,
        idempotency_key=idempotency_key,
    )


def batch_id_of(batch: BatchRef) -> str:
    """The id of a batch, however it is named."""
    name = batch if isinstance(batch, str) else batch.batch_id
    if not name:
        raise ArgumentError("the batch_id is empty")
    return name


def batch_path(batch: BatchRef) -> str:
    """Where a batch is."""
    return f"{PREFIX}/batches/{quote(batch_id_of(batch), safe='')}"


def batch_lookup(batch: BatchRef, wait: int | None = None, limit: float | None = None) -> Call:
    """A batch, at once or once it is over."""
    query = () if wait is None else (("wait", str(wait)),)
    return Call(method="GET", path=batch_path(batch), query=query, patience=float(wait or 0), limit=limit)


def batch_cancel(batch: BatchRef) -> Call:
    """Cancels what is still queued of a batch."""
    return Call(method="DELETE", path=batch_path(batch))


def batch_results(batch: BatchRef) -> Call:
    """What has become of each request of a batch."""
    return Call(method="GET", path=f"{batch_path(batch)}/results", headers={"Accept": "application/x-ndjson"})


def lookup(job: JobRef, wait: int | None = None, limit: float | None = None) -> Call:
    """A job, at once or once it is over."""
    query = () if wait is None else (("wait", str(wait)),)
    return Call(method="GET", path=job_path(job), query=query, patience=float(wait or 0), limit=limit)


def cancel(job: JobRef) -> Call:
    """Takes back a job that is still queued."""
    return Call(method="DELETE", path=job_path(job))


def events(job: JobRef, last_event_id: str | None) -> Call:
    """The states of a job."""
    # Not compressed: a compressor may hold an event back until there are more.
    headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
    if last_event_id is not None:
        headers["Last-Event-ID"] = last_event_id
    return Call(method="GET", path=f"{job_path(job)}/events", headers=headers)


def picture(url: str, save_to: Path | None) -> Call:
    """A picture at its signed URL, to which the API key is nobody's business."""
    return Call(method="GET", path=url, headers={"Accept": "image/*"}, save_to=save_to)


def get(path: str, query: Query = ()) -> Call:
    """What is read and has no parameters of its own."""
    return Call(method="GET", path=f"{PREFIX}{path}", query=query)


def window(limit: int | None, cursor: str | None) -> Query:
    """Which part of a list."""
    given = (("limit", None if limit is None else str(limit)), ("cursor", cursor))
    return tuple((name, value) for name, value in given if value is not None)


def filtered(**wanted: Unpack[JobFilter]) -> Query:
    """Which jobs of the list."""
    query: list[tuple[str, str]] = []
    for name, value in wanted.items():
        if value is None:
            continue
        if isinstance(value, datetime):
            query.append((name, _utc(name, value)))
        elif isinstance(value, Mapping):
            query.extend((f"metadata[{member}]", _text(it)) for member, it in value.items())
        else:
            query.append((name, str(value)))
    return tuple(query)


def _utc(name: str, moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ArgumentError(f"{name} needs a time zone, such as datetime.now(timezone.utc)")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _text(value: object) -> str:
    """A member of metadata as lists compare it: a string as it is, everything else by its JSON text."""
    return value if isinstance(value, str) else json.dumps(value)
