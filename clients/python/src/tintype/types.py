"""The types of parameters and answers. Amounts are `Decimal`, times are `datetime` in UTC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Generic, Literal, NotRequired, Protocol, Required, TypeAlias, TypedDict, TypeVar
from uuid import UUID

Tier: TypeAlias = Literal["fast", "quality", "pro"]
Mode: TypeAlias = Literal["text-to-image", "image-to-image"]
Status: TypeAlias = Literal["queued", "processing", "done", "failed"]
BatchStatus: TypeAlias = Literal["in_progress", "canceling", "ended"]
TransactionKind: TypeAlias = Literal["deposit", "charge", "adjustment"]
Resolution: TypeAlias = Literal["1K", "2K", "4K"]
AspectRatio: TypeAlias = Literal[
    "1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9", "1:4", "4:1", "1:8", "8:1", "auto"
]
JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"


class GenerationParams(TypedDict, total=False):
    """The parameters of an image.

    With `input_images_urls` (1 to 14, http or https) the mode is image-to-image, and `aspect_ratio` `"auto"` selects the ratio
    of the first one. `resolution` defaults to `"1K"`; `fast` does not accept it. `callback_url` selects one of the account's
    registered webhooks. The webhook contains `metadata` without the top-level names that begin with `_`.
    """

    prompt: Required[str]
    tier: Required[Tier]
    aspect_ratio: Required[AspectRatio]
    resolution: Resolution | None
    input_images_urls: Sequence[str] | None
    callback_url: str | None
    metadata: Mapping[str, JsonValue] | None


class JobFilter(TypedDict):
    """The conditions for jobs in a list. `metadata` has members that the metadata of a job must have."""

    status: NotRequired[Status | None]
    tier: NotRequired[Tier | None]
    mode: NotRequired[Mode | None]
    key: NotRequired[str | None]
    batch_id: NotRequired[str | None]
    created_after: NotRequired[datetime | None]
    created_before: NotRequired[datetime | None]
    metadata: NotRequired[Mapping[str, str | int | float | bool | None] | None]


class TransactionFilter(TypedDict):
    """The conditions for entries of the ledger. Both times are included."""

    kind: NotRequired[TransactionKind | None]
    job_id: NotRequired[str | None]
    from_time: NotRequired[datetime | None]
    to_time: NotRequired[datetime | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedJob:
    """An accepted job. The job, its reserved price and its idempotency key are on the disk of the service.

    If `replayed`, an earlier call with the same key created the job.
    """

    job_id: str
    status: Status
    status_url: str
    idempotency_key: str
    replayed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The resolved parameters and the price of a dry run. `available` is what the account can spend now."""

    price: Decimal
    tier: Tier
    mode: Mode
    aspect_ratio: AspectRatio
    resolution: Resolution
    available: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The image of a job. The URL is signed and valid for 24 hours; each lookup returns a new one."""

    image_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The state of a job at the time of the answer."""

    job_id: str
    status: Status
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    result: Result | None
    error: str | None
    queue_position: int | None
    estimated_start_at: datetime | None = None
    """The estimated start of a queued job, from the throughput of the last minutes; `None` without data."""

    @property
    def is_over(self) -> bool:
        """Whether the job is `done` or `failed`."""
        return self.status in ("done", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedJob(Job):
    """A job in a list."""

    tier: Tier
    mode: Mode
    aspect_ratio: AspectRatio
    resolution: Resolution
    price: Decimal
    key_id: str
    batch_id: str | None
    """`None` unless the job belongs to a batch, like `custom_id`."""
    custom_id: str | None


class BatchRequest(TypedDict, total=False):
    """One request of a batch.

    `custom_id` is your name for the request, unique in the batch; it defaults to the position as text. With
    `input_images_urls` the mode is image-to-image. The service fetches these images when the job starts.
    """

    model: Required[Tier]
    prompt: Required[str]
    aspect_ratio: Required[AspectRatio]
    custom_id: str | None
    resolution: Resolution | None
    input_images_urls: Sequence[str] | None
    metadata: Mapping[str, JsonValue] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCounts:
    """The numbers of a batch's jobs by state."""

    total: int
    queued: int
    processing: int
    done: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The state of a batch at the time of the answer.

    `price` is the sum of the prices of its jobs, `charged` that of the jobs that are done. A failed job is not charged.
    """

    batch_id: str
    status: BatchStatus
    created_at: datetime
    ended_at: datetime | None
    counts: BatchCounts
    price: Decimal
    charged: Decimal
    metadata: Mapping[str, JsonValue] | None
    results_url: str

    @property
    def is_over(self) -> bool:
        """Whether all of its jobs are `done` or `failed`."""
        return self.status == "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedBatch(Batch):
    """An accepted batch. The batch, its jobs, their reserved prices and its idempotency key are on the disk of the service.

    If `replayed`, an earlier call with the same key created the batch.
    """

    idempotency_key: str
    replayed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEstimate:
    """The price of a dry run of a batch. `available` is what the account can spend now."""

    price: Decimal
    requests: int
    available: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """The result of one request of a batch."""

    custom_id: str
    job_id: str
    status: Status
    result: Result | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusEvent:
    """The job entered another state."""

    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEvent:
    """The queue position of the job changed; 1 is the next to start."""

    job_id: str
    queue_position: int
    estimated_start_at: datetime | None = None
    """The estimated start of the job; `None` without data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressEvent:
    """The progress of the job, from 0 to 1, if its backend reports it."""

    job_id: str
    progress: float


JobEvent: TypeAlias = StatusEvent | QueueEvent | ProgressEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """The balance of the account. `reserved` is for jobs that have not ended, `available` is the rest of `balance`."""

    balance: Decimal
    reserved: Decimal
    available: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """An entry of the account's ledger. The `amount` of a charge is negative."""

    transaction_id: str
    kind: TransactionKind
    amount: Decimal
    balance_after: Decimal
    job_id: str | None
    reference: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The jobs of one key that ended on one UTC day, for one model and resolution."""

    day: date
    key_id: str
    key_name: str | None
    model: Tier
    resolution: Resolution
    images: int
    failed: int
    charged: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A tier: its parameters, its prices by resolution, and whether this key may use it now."""

    id: Tier
    modes: tuple[Mode, ...]
    aspect_ratios: tuple[AspectRatio, ...]
    resolutions: tuple[Resolution, ...]
    prices: Mapping[Resolution, Decimal]
    paused: bool
    paused_reason: str | None
    allowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """The sustained rate in requests per second, and the burst after a pause."""

    per_second: int
    burst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """The permissions, limits and spending of the API key."""

    key_id: str
    name: str
    models: tuple[Tier, ...]
    active: bool
    expires_at: datetime | None
    spend_limit: Decimal | None
    spent: Decimal
    reserved: Decimal | None
    spend_limit_monthly: Decimal | None
    spent_this_month: Decimal | None
    spend_limit_daily: Decimal | None
    spent_today: Decimal | None
    rate_limit: RateLimit | None
    max_concurrent: int | None
    allowed_ips: tuple[str, ...] | None
    created_at: datetime


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A page of a list, newest first. Only the last page has the `next_cursor` `None`."""

    data: tuple[T, ...]
    next_cursor: str | None


class HasJobId(Protocol):
    """An object that names a job, such as a `Job` or a `BatchResult`."""

    @property
    def job_id(self) -> str:
        """The id of the job."""
        ...


class HasBatchId(Protocol):
    """An object that names a batch."""

    @property
    def batch_id(self) -> str:
        """The id of the batch."""
        ...


JobRef: TypeAlias = str | UUID | HasJobId
BatchRef: TypeAlias = str | UUID | HasBatchId
