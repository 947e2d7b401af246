"""The calls of the API as data: what a client sends, independent of how."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Unpack
from urllib.parse import quote

from . import _arguments
from .errors import ArgumentError
from .types import BatchRef, BatchRequest, GenerationParams, JobFilter, JobRef, JsonValue, TransactionFilter

PREFIX = "/api/v1"
PATHS = {"fast": "/nb", "quality": "/nb2", "pro": ""}
Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request. The client may repeat it, because each call that creates something carries an idempotency key."""

    method: str
    # A path of the service; or a whole URL, to which the client sends no API key.
    path: str
    query: Query = ()
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    # Seconds that the service may take on purpose, in addition to the timeout.
    patience: float = 0.0
    # Seconds after which the caller no longer needs the answer, for any timeout.
    limit: float | None = None
    # The file for the body of the answer, if the client must not keep it in memory.
    save_to: Path | None = None
    # The existing job or batch that the call is about, for errors.
    job_id: str | None = None
    batch_id: str | None = None

    def __str__(self) -> str:
        """The call in messages, without the query: that of a signed URL gives access to the image."""
        return f"{self.method} {self.path.partition('?')[0]}"

    @property
    def is_foreign(self) -> bool:
        """Whether the address is a URL from an answer, which may lead to a bucket."""
        return not self.path.startswith("/")


def job_id_of(job: JobRef) -> str:
    """The id of a job."""
    return _arguments.id_of(job, "job_id")


def for_job(job: JobRef, method: str = "GET", part: str = "") -> Call:
    """A call about a job, by default its lookup."""
    job_id = job_id_of(job)
    return Call(method=method, path=f"{PREFIX}/jobs/{quote(job_id, safe='')}{part}", job_id=job_id)


def generation(idempotency_key: str | None, cancel_after: float | None = None, **params: Unpack[GenerationParams]) -> Call:
    """A generation call; without a key, a dry run."""
    tier = params.get("tier")
    if not isinstance(tier, str) or tier not in PATHS:
        raise ArgumentError(f"tier must be one of {', '.join(PATHS)}, not {tier!r}")
    body = {name: value for name, value in params.items() if name != "tier" and value is not None}
    urls = params.get("input_images_urls")
    if urls is not None:
        body["input_images_urls"] = _arguments.urls(urls)
    mode = "text" if urls is None else "url"
    call = _creation(f"{PREFIX}{PATHS[tier]}/{mode}-generations", body, idempotency_key)
    return replace(call, headers={**call.headers, **_arguments.cancel_after(cancel_after)})


def batch(
    requests: Iterable[BatchRequest],
    idempotency_key: str | None,
    metadata: Mapping[str, JsonValue] | None,
    callback_url: str | None,
) -> Call:
    """The call that creates a batch; without a key, a dry run."""
    body: dict[str, object] = {"requests": [_entry(it) for it in _arguments.requests(requests)]}
    others = {"metadata": metadata, "callback_url": callback_url}
    body.update({name: value for name, value in others.items() if value is not None})
    return _creation(f"{PREFIX}/batches", body, idempotency_key)


def _entry(request: Mapping[str, object]) -> dict[str, object]:
    entry = {name: value for name, value in request.items() if value is not None}
    if "input_images_urls" in entry:
        entry["input_images_urls"] = _arguments.urls(entry["input_images_urls"])
    return entry


def _creation(path: str, body: object, idempotency_key: str | None) -> Call:
    try:
        # JSON has no NaN; Python would write it nevertheless, and the service would reject the whole body.
        # Short, because the service limits the bytes of a body.
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)
        content = text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"the request cannot be written as JSON: {error}") from None
    return Call(
        method="POST",
        path=path,
        query=() if idempotency_key is not None else (("dry_run", "true"),),
        body=content,
        headers={"Content-Type": "application/json"},
        idempotency_key=idempotency_key,
    )


def _plain(value: object) -> object:
    """What `json` writes for a mapping or a sequence of another class."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def batch_id_of(batch: BatchRef) -> str:
    """The id of a batch."""
    return _arguments.id_of(batch, "batch_id")


def for_batch(batch: BatchRef, method: str = "GET", part: str = "") -> Call:
    """A call about a batch, by default its lookup."""
    batch_id = batch_id_of(batch)
    return Call(method=method, path=f"{PREFIX}/batches/{quote(batch_id, safe='')}{part}", batch_id=batch_id)


def waiting(lookup: Call, seconds: int, limit: float | None = None) -> Call:
    """The same lookup, but the service answers when the job or the batch has ended, or after so many seconds."""
    return replace(lookup, query=(("wait", str(seconds)),), patience=float(seconds), limit=limit)


def batch_results(batch: BatchRef) -> Call:
    """The results of a batch, one per line."""
    return replace(for_batch(batch, part="/results"), headers={"Accept": "application/x-ndjson"})


def events(job: JobRef, last_event_id: str | None) -> Call:
    """The stream of a job's events."""
    # Not compressed: a compressor may hold an event back until there are more.
    headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
    if last_event_id is not None:
        headers["Last-Event-ID"] = last_event_id
    return replace(for_job(job, part="/events"), headers=headers)


def image(url: str, job_id: str, save_to: Path | None) -> Call:
    """The image of a job at its signed URL."""
    return Call(method="GET", path=url, headers={"Accept": "image/*"}, save_to=save_to, job_id=job_id)


def get(path: str, query: Query = ()) -> Call:
    """A call that reads something."""
    return Call(method="GET", path=f"{PREFIX}{path}", query=query)


def window(limit: int | None, cursor: str | None) -> Query:
    """The parameters that select a page of a list."""
    given = (("limit", None if limit is None else str(limit)), ("cursor", cursor))
    return tuple((name, value) for name, value in given if value is not None)


def usage(from_day: date | None, to_day: date | None, key: str | None, cursor: str | None) -> Call:
    """A page of the usage of some days."""
    days = (("from", from_day), ("to", to_day))
    query = tuple((name, day.isoformat()) for name, day in days if day is not None)
    return get("/usage", query + (() if key is None else (("key", key),)) + window(100, cursor))


def filtered(**filters: Unpack[JobFilter]) -> Query:
    """The parameters that select jobs of the list."""
    return _query(filters)


def ledger(limit: int | None, cursor: str | None, **filters: Unpack[TransactionFilter]) -> Call:
    """A page of the ledger."""
    # `from` is a keyword of Python.
    query = tuple((name.removesuffix("_time"), value) for name, value in _query(filters))
    return get("/transactions", window(limit, cursor) + query)


def _query(filters: Mapping[str, object]) -> Query:
    query: list[tuple[str, str]] = []
    for name, value in filters.items():
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
    """A member of metadata as the service compares it: text unchanged, every other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value)
