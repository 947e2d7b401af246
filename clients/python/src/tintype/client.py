"""The client that blocks. `async_client` has the same for asyncio and trio."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

import httpx

from . import _calls, _flows, _wire
from ._calls import BatchRef, JobRef
from ._events import Listening
from ._line import Line
from ._settings import DEFAULT_MAX_RETRIES, DEFAULT_TIMEOUT, Settings
from .types import (
    Balance,
    Batch,
    BatchEstimate,
    BatchRequest,
    BatchResult,
    CreatedBatch,
    CreatedJob,
    Estimate,
    GenerationParams,
    Job,
    JobEvent,
    JobFilter,
    JsonValue,
    Key,
    ListedJob,
    Model,
    Page,
    Transaction,
)


class Tintype:
    """A client of one service with one API key. May be shared by threads.

    `api_key` and `base_url` are taken from the environment (`TINTYPE_KEY`, `TINTYPE_URL`) where they are left out.
    `timeout` is in seconds, for connecting and for each silence. A call that fails for a passing reason is sent again up to
    `max_retries` times; that is safe, for each generation call carries an idempotency key. An `http_client` of your own,
    for instance with a proxy, is not closed with this one.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_MAX_RETRIES,
        http_client: httpx.Client | None = None,
    ) -> None:
        self._line = Line(Settings.of(api_key, base_url, timeout, max_retries), http_client)

    @property
    def generations(self) -> Generations:
        """Makes pictures."""
        return Generations(self._line)

    @property
    def jobs(self) -> Jobs:
        """Looks jobs up, waits for them, cancels them, fetches their pictures."""
        return Jobs(self._line)

    @property
    def batches(self) -> Batches:
        """Makes many pictures by one call."""
        return Batches(self._line)

    @property
    def transactions(self) -> Transactions:
        """The account's ledger."""
        return Transactions(self._line)

    def balance(self) -> Balance:
        """The account's money."""
        return self._line.run(_flows.fetch(_calls.get("/balance"), self._line.repeats, _wire.balance))

    def models(self) -> tuple[Model, ...]:
        """The tiers with their ratios, sizes and prices, and whether this key may use them now."""
        return self._line.run(_flows.fetch(_calls.get("/models"), self._line.repeats, _wire.models))

    def key(self) -> Key:
        """What this key may do."""
        return self._line.run(_flows.fetch(_calls.get("/key"), self._line.repeats, _wire.key))

    def with_options(self, *, timeout: float | None = None, max_retries: int | None = None) -> Tintype:
        """The same client with other patience. Shares the connections, and need not be closed."""
        other = object.__new__(type(self))
        other._line = self._line.with_options(timeout, max_retries)
        return other

    def close(self) -> None:
        """Closes the connections."""
        self._line.close()

    def __enter__(self) -> Self:
        """Closes with the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Closes the connections."""
        self.close()

    def __repr__(self) -> str:
        """Where it calls, without the key."""
        return f"{type(self).__name__}(base_url={self._line.settings.address!r})"


class Generations:
    """The generation calls."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def create(self, *, idempotency_key: str | None = None, **params: Unpack[GenerationParams]) -> CreatedJob:
        """Makes a job and holds its price. Returns once both are on the service's disk.

        The same `idempotency_key` with the same parameters is the same job, for 24 hours. Left out, one is made up and is in
        the answer, and in the exception if there is one (`CallError.idempotency_key`).
        """
        call = _calls.generation(_calls.key_or_new(idempotency_key), **params)
        return self._line.run(_flows.create(call, self._line.repeats))

    def create_and_wait(
        self,
        *,
        idempotency_key: str | None = None,
        wait_timeout: float | None = 600.0,
        **params: Unpack[GenerationParams],
    ) -> Job:
        """Makes a job and waits until it is done. Raises `JobFailedError`, or `WaitTimeoutError` after `wait_timeout` seconds.

        The job goes on where waiting for it fails. Every exception from there on has its `job_id`, for `jobs.wait`, and the
        `idempotency_key`, with which this call finds the same job again. An interrupt or a cancellation from outside has
        neither: name a key of your own where that may happen.
        """
        call = _calls.generation(_calls.key_or_new(idempotency_key), **params)
        return self._line.run(_flows.create_and_wait(call, wait_timeout, self._line.repeats, self._line.clock))

    def dry_run(self, **params: Unpack[GenerationParams]) -> Estimate:
        """Every check of `create` and the price, and nothing kept. What `create` would refuse is refused in the same way."""
        call = _calls.generation(None, **params)
        return self._line.run(_flows.fetch(call, self._line.repeats, _wire.estimate))


class Jobs:
    """The account's jobs. Each call takes a job, or its id."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def get(self, job: JobRef) -> Job:
        """The job as it is now."""
        return self._line.run(_flows.fetch(_calls.lookup(job), self._line.repeats, _wire.job))

    def wait(self, job: JobRef, *, timeout: float | None = 600.0) -> Job:
        """The job once it is over, `done` or `failed`. Outlives a restart of the service.

        Raises `WaitTimeoutError` when it is not over after `timeout` seconds; `None` waits for as long as it takes.
        """
        return self._line.run(_flows.wait(job, timeout, self._line.repeats, self._line.clock))

    def events(self, job: JobRef) -> Iterator[JobEvent]:
        """The job's states, its place in the queue and its progress as they come, up to the last state.

        Comes back by itself when the stream breaks off, and outlives a restart of the service.
        """
        return self._line.listen(Listening(job, self._line.repeats, self._line.clock))

    def cancel(self, job: JobRef) -> Job:
        """Takes a job back that is still queued. Raises `ConflictError` for one that has begun or is over."""
        return self._line.run(_flows.cancel(job, self._line.repeats))

    def download(self, job: JobRef) -> bytes:
        """The picture, at a fresh URL. Raises `JobFailedError` or `JobUnfinishedError` where there is none."""
        return self._line.run(_flows.download(job, None, self._line.repeats)).body

    def download_to(self, job: JobRef, path: str | os.PathLike[str]) -> Path:
        """The same into a file, which is there whole or not at all."""
        target = Path(path)
        self._line.run(_flows.download(job, target, self._line.repeats))
        return target

    def list(self, *, limit: int | None = None, cursor: str | None = None, **wanted: Unpack[JobFilter]) -> Page[ListedJob]:
        """A page of jobs, newest first. `limit` is 1 to 100, 20 if not said."""
        query = _calls.window(limit, cursor) + _calls.filtered(**wanted)
        call = _calls.get("/jobs", query)
        return self._line.run(_flows.fetch(call, self._line.repeats, _wire.page(_wire.listed_job)))

    def iterate(self, **wanted: Unpack[JobFilter]) -> Iterator[ListedJob]:
        """All jobs, newest first, page by page as they are needed."""
        page = self.list(limit=100, **wanted)
        yield from page.data
        while page.next_cursor is not None:
            page = self.list(limit=100, cursor=page.next_cursor, **wanted)
            yield from page.data


class Batches:
    """Batches: many requests in one call. Each call takes a batch, or its id."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def create(
        self,
        requests: Iterable[BatchRequest],
        *,
        idempotency_key: str | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        callback_url: str | None = None,
    ) -> CreatedBatch:
        """Makes a job of each request, all or none, and holds the sum of their prices.

        The same `idempotency_key` with the same requests is the same batch, for 24 hours. `metadata` comes back with the
        webhook, which tells of the end of the batch; `callback_url` names one of the account's registered webhooks.
        """
        call = _calls.batch(requests, _calls.key_or_new(idempotency_key), metadata, callback_url)
        return self._line.run(_flows.create_batch(call, self._line.repeats))

    def dry_run(self, requests: Iterable[BatchRequest]) -> BatchEstimate:
        """Every check of `create` and the price, and nothing kept. Input images are not fetched."""
        call = _calls.batch(requests, None, None, None)
        return self._line.run(_flows.fetch(call, self._line.repeats, _wire.batch_estimate))

    def get(self, batch: BatchRef) -> Batch:
        """The batch as it is now."""
        return self._line.run(_flows.fetch(_calls.batch_lookup(batch), self._line.repeats, _wire.batch))

    def wait(self, batch: BatchRef, *, timeout: float | None = 3600.0) -> Batch:
        """The batch once all of its jobs are over. Outlives a restart of the service.

        Raises `BatchWaitTimeoutError` when it is not over after `timeout` seconds; `None` waits for as long as it takes.
        """
        return self._line.run(_flows.wait_for_batch(batch, timeout, self._line.repeats, self._line.clock))

    def results(self, batch: BatchRef) -> tuple[BatchResult, ...]:
        """What has become of each request so far, in their order. `jobs.download` takes the `job_id` of one."""
        return self._line.run(_flows.results(batch, self._line.repeats))

    def cancel(self, batch: BatchRef) -> Batch:
        """Cancels what is still queued. Raises `ConflictError` for a batch that is over."""
        return self._line.run(_flows.fetch(_calls.batch_cancel(batch), self._line.repeats, _wire.batch))

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Batch]:
        """A page of batches, newest first. `limit` is 1 to 100, 20 if not said."""
        call = _calls.get("/batches", _calls.window(limit, cursor))
        return self._line.run(_flows.fetch(call, self._line.repeats, _wire.page(_wire.batch)))

    def iterate(self) -> Iterator[Batch]:
        """All batches, newest first, page by page as they are needed."""
        page = self.list(limit=100)
        yield from page.data
        while page.next_cursor is not None:
            page = self.list(limit=100, cursor=page.next_cursor)
            yield from page.data


class Transactions:
    """The account's ledger."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Transaction]:
        """A page of the ledger, newest first. `limit` is 1 to 100, 20 if not said."""
        call = _calls.get("/transactions", _calls.window(limit, cursor))
        return self._line.run(_flows.fetch(call, self._line.repeats, _wire.page(_wire.transaction)))

    def iterate(self) -> Iterator[Transaction]:
        """The whole ledger, newest first, page by page as it is needed."""
        page = self.list(limit=100)
        yield from page.data
        while page.next_cursor is not None:
            page = self.list(limit=100, cursor=page.next_cursor)
            yield from page.data
