"""The blocking client. `async_client` has the same methods for asyncio and trio."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

import httpx

from . import _arguments, _calls, _flows, _wire
from ._events import Follower
from ._settings import DEFAULT_MAX_RETRIES, DEFAULT_TIMEOUT, Settings
from ._transport import Transport, every_page
from .errors import ApiError
from .types import (
    Balance,
    Batch,
    BatchEstimate,
    BatchRef,
    BatchRequest,
    BatchResult,
    CreatedBatch,
    CreatedJob,
    Estimate,
    GenerationParams,
    Job,
    JobEvent,
    JobFilter,
    JobRef,
    JsonValue,
    Key,
    ListedJob,
    Model,
    Page,
    Transaction,
    TransactionFilter,
    Usage,
)


class Tintype:
    """A client of one service with one API key. Threads may share it.

    `api_key` and `base_url` default to the environment variables `TINTYPE_KEY` and `TINTYPE_URL`. `timeout` limits connecting
    and each pause between bytes, in seconds; `math.inf` means no limit. The client repeats a call that failed temporarily up
    to `max_retries` times. This is safe, because each creation carries an idempotency key. The client does not close an
    `http_client` that you pass, for example for a proxy.
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
        self._transport = Transport(Settings.of(api_key, base_url, timeout, max_retries), http_client)

    @property
    def generations(self) -> Generations:
        """Creates jobs."""
        return Generations(self._transport)

    @property
    def jobs(self) -> Jobs:
        """Looks up jobs, waits for them, cancels them, and downloads and deletes their images."""
        return Jobs(self._transport)

    @property
    def batches(self) -> Batches:
        """Creates many jobs with one call."""
        return Batches(self._transport)

    @property
    def transactions(self) -> Transactions:
        """Reads the ledger of the account."""
        return Transactions(self._transport)

    def balance(self) -> Balance:
        """The balance of the account."""
        return self._transport.fetch(_calls.get("/balance"), _wire.balance)

    def models(self) -> tuple[Model, ...]:
        """The tiers with their ratios, sizes and prices, and whether this key may use them now."""
        return self._transport.fetch(_calls.get("/models"), _wire.models)

    def key(self) -> Key:
        """The permissions, limits and spending of this API key."""
        return self._transport.fetch(_calls.get("/key"), _wire.key)

    def usage(
        self, *, from_day: date | None = None, to_day: date | None = None, key: str | None = None
    ) -> Generator[Usage, None, None]:
        """The usage of the account by UTC day, key, model and resolution, oldest first. It fetches pages on demand.

        The range includes both days, and has at most 366 days, by default the last 30. `key` is the `key_id` of a key.
        """
        read = _wire.page(_wire.usage)
        return every_page(lambda cursor: self._transport.fetch(_calls.usage(from_day, to_day, key, cursor), read))

    def with_options(self, *, timeout: float | None = None, max_retries: int | None = None) -> Tintype:
        """The same client with other options. It shares the connections, and you need not close it."""
        other = object.__new__(type(self))
        other._transport = self._transport.with_settings(self._transport.settings.with_options(timeout, max_retries))
        return other

    def close(self) -> None:
        """Closes the connections."""
        self._transport.close()

    def __enter__(self) -> Self:
        """Closes the client at the end of the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Closes the connections."""
        self.close()

    def __repr__(self) -> str:
        """The address of the service, without the key."""
        return f"{type(self).__name__}(base_url={self._transport.settings.address!r})"


class Generations:
    """Creates jobs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        *,
        idempotency_key: str | None = None,
        cancel_after: float | None = None,
        **params: Unpack[GenerationParams],
    ) -> CreatedJob:
        """Creates a job and reserves its price. It returns when both are on the disk of the service.

        For 24 hours, the same `idempotency_key` with the same parameters returns the same job. By default the client generates
        a key, which is in the returned job and in every exception (`CallError.idempotency_key`). A job that is still queued
        after `cancel_after` seconds fails, and is not charged.
        """
        call = _calls.generation(_arguments.key_or_new(idempotency_key), cancel_after, **params)
        return self._transport.run(_flows.create(call, self._transport.policy, _wire.created))

    def create_and_wait(
        self,
        *,
        idempotency_key: str | None = None,
        cancel_after: float | None = None,
        wait_timeout: float | None = 600.0,
        **params: Unpack[GenerationParams],
    ) -> Job:
        """Creates a job and waits until it is done.

        Raises `JobFailedError`, or `WaitTimeoutError` after `wait_timeout` seconds, counted from the creation. The
        creation itself is not repeated after `wait_timeout` seconds. If waiting fails, the job continues. Every exception after
        the creation has the `job_id`, for `jobs.wait`, and the `idempotency_key`, with which this call returns the same job
        again. An interrupt or a cancellation of a task has neither: if they can occur, pass your own key.
        """
        call = _calls.generation(_arguments.key_or_new(idempotency_key), cancel_after, **params)
        return self._transport.run(_flows.create_and_wait(call, wait_timeout, self._transport.policy))

    def dry_run(self, **params: Unpack[GenerationParams]) -> Estimate:
        """Runs every check of `create` and returns the price, but creates nothing. Raises what `create` would raise."""
        return self._transport.fetch(_calls.generation(None, **params), _wire.estimate)


class Jobs:
    """The jobs of the account. Pass a job as its id, or as an object that an earlier call returned."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, job: JobRef) -> Job:
        """The current state of the job."""
        return self._transport.fetch(_calls.for_job(job), _wire.job)

    def wait(self, job: JobRef, *, timeout: float | None = 600.0) -> Job:
        """Waits until the job is `done` or `failed`, and returns it. It survives a restart of the service.

        Raises `WaitTimeoutError` after `timeout` seconds; `None` means no limit.
        """
        return self._transport.run(_flows.wait(job, timeout, self._transport.policy))

    def events(self, job: JobRef) -> Generator[JobEvent, None, None]:
        """The states of the job, its queue positions and its progress, until the job ends.

        It reconnects if the stream ends early, and survives a restart of the service.
        """
        return self._transport.follow(Follower(job, self._transport.policy))

    def cancel(self, job: JobRef) -> Job:
        """Cancels a queued job. Raises `ConflictError` if it has started or ended."""
        return self._transport.run(_flows.cancel(job, self._transport.policy))

    def delete_image(self, job: JobRef) -> None:
        """Deletes the image of a `done` job. The job and its charge remain. Raises `ConflictError` if it has no image."""
        self._transport.run(_flows.exchange(_calls.for_job(job, "DELETE", "/image"), self._transport.policy))

    def download(self, job: JobRef) -> bytes:
        """Downloads the image. Raises `JobFailedError` or `JobUnfinishedError` if there is none."""
        return self._transport.run(_flows.download(job, None, self._transport.policy)).body

    def download_to(self, job: JobRef, path: str | os.PathLike[str]) -> Path:
        """Downloads the image into a file, which is replaced only when the image is complete. The directory must exist.

        A replaced file keeps its mode. If `path` is a symbolic link, the file that it leads to is replaced.
        """
        target = _arguments.path(path)
        self._transport.run(_flows.download(job, target, self._transport.policy))
        return target

    @contextmanager
    def open(self, job: JobRef) -> Iterator[httpx.Response]:
        """The image as an `httpx.Response` with an unread body, to forward it as a stream.

        The client does not repeat this download. It ends with the block.
        """
        with ExitStack() as stack:
            try:
                response = stack.enter_context(self._transport.open(self._image(job)))
            except ApiError as error:
                if not _flows.is_url_expired(error):
                    raise
                response = stack.enter_context(self._transport.open(self._image(job)))
            yield response

    def _image(self, job: JobRef) -> _calls.Call:
        return self._transport.run(_flows.image(job, self._transport.policy))

    def list(self, *, limit: int | None = None, cursor: str | None = None, **filters: Unpack[JobFilter]) -> Page[ListedJob]:
        """A page of jobs, newest first. `limit` is 1 to 100, by default 20."""
        query = _calls.window(limit, cursor) + _calls.filtered(**filters)
        return self._transport.fetch(_calls.get("/jobs", query), _wire.page(_wire.listed_job))

    def iterate(self, **filters: Unpack[JobFilter]) -> Generator[ListedJob, None, None]:
        """All jobs, newest first. It fetches pages on demand."""
        return every_page(lambda cursor: self.list(limit=100, cursor=cursor, **filters))


class Batches:
    """The batches of the account. Pass a batch as its id, or as an object that an earlier call returned."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        requests: Iterable[BatchRequest],
        *,
        idempotency_key: str | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        callback_url: str | None = None,
    ) -> CreatedBatch:
        """Creates a job for each request, all or none, and reserves the sum of their prices.

        For 24 hours, the same `idempotency_key` with the same requests returns the same batch. The webhook that reports the end
        of the batch contains `metadata`; `callback_url` selects one of the account's registered webhooks.
        """
        call = _calls.batch(requests, _arguments.key_or_new(idempotency_key), metadata, callback_url)
        return self._transport.run(_flows.create(call, self._transport.policy, _wire.created_batch))

    def dry_run(self, requests: Iterable[BatchRequest]) -> BatchEstimate:
        """Runs every check of `create` and returns the price, but creates nothing. It fetches no input images."""
        return self._transport.fetch(_calls.batch(requests, None, None, None), _wire.batch_estimate)

    def get(self, batch: BatchRef) -> Batch:
        """The current state of the batch."""
        return self._transport.fetch(_calls.for_batch(batch), _wire.batch)

    def wait(self, batch: BatchRef, *, timeout: float | None = 3600.0) -> Batch:
        """Waits until all jobs of the batch have ended, and returns it. It survives a restart of the service.

        Raises `BatchWaitTimeoutError` after `timeout` seconds; `None` means no limit.
        """
        return self._transport.run(_flows.wait_for_batch(batch, timeout, self._transport.policy))

    def results(self, batch: BatchRef) -> tuple[BatchResult, ...]:
        """The results so far, in the order of the requests. Pass a result to `jobs.download` to get its image."""
        return self._transport.run(_flows.results(batch, self._transport.policy))

    def cancel(self, batch: BatchRef) -> Batch:
        """Cancels the queued jobs of the batch. Raises `ConflictError` if all jobs have ended without it."""
        return self._transport.fetch(_calls.for_batch(batch, "DELETE"), _wire.batch)

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Batch]:
        """A page of batches, newest first. `limit` is 1 to 100, by default 20."""
        return self._transport.fetch(_calls.get("/batches", _calls.window(limit, cursor)), _wire.page(_wire.batch))

    def iterate(self) -> Generator[Batch, None, None]:
        """All batches, newest first. It fetches pages on demand."""
        return every_page(lambda cursor: self.list(limit=100, cursor=cursor))


class Transactions:
    """The ledger of the account."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self, *, limit: int | None = None, cursor: str | None = None, **filters: Unpack[TransactionFilter]
    ) -> Page[Transaction]:
        """A page of the ledger, newest first. `limit` is 1 to 100, by default 20."""
        return self._transport.fetch(_calls.ledger(limit, cursor, **filters), _wire.page(_wire.transaction))

    def iterate(self, **filters: Unpack[TransactionFilter]) -> Generator[Transaction, None, None]:
        """All entries of the ledger, newest first. It fetches pages on demand."""
        return every_page(lambda cursor: self.list(limit=100, cursor=cursor, **filters))
