"""What is sent and what comes back, typed. Money is `Decimal`, moments are `datetime` in UTC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Generic, Literal, NotRequired, Required, TypeAlias, TypedDict, TypeVar

Tier: TypeAlias = Literal["fast", "quality", "pro"]
Mode: TypeAlias = Literal["text-to-image", "image-to-image"]
Status: TypeAlias = Literal["queued", "processing", "done", "failed"]
BatchStatus: TypeAlias = Literal["in_progress", "canceling", "ended"]
Resolution: TypeAlias = Literal["1K", "2K", "4K"]
AspectRatio: TypeAlias = Literal[
    "1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9", "1:4", "4:1", "1:8", "8:1", "auto"
]
JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"


class GenerationParams(TypedDict, total=False):
    """What a picture is asked for by.

    With `input_images_urls` (1 to 14, http or https) it is image-to-image. `aspect_ratio` `"auto"` follows the first of
    them. `resolution` is `"1K"` if not said, and is not accepted on `fast`. `callback_url` names one of the account's
    registered webhooks. `metadata` comes back with the webhook, without its own names that begin with `_`.
    """

    prompt: Required[str]
    tier: Required[Tier]
    aspect_ratio: Required[AspectRatio]
    resolution: Resolution | None
    input_images_urls: Sequence[str] | None
    callback_url: str | None
    metadata: Mapping[str, JsonValue] | None


class JobFilter(TypedDict):
    """Which jobs a list holds. `metadata` names members that a job's must have."""

    status: NotRequired[Status]
    tier: NotRequired[Tier]
    mode: NotRequired[Mode]
    key: NotRequired[str]
    batch_id: NotRequired[str]
    created_after: NotRequired[datetime]
    created_before: NotRequired[datetime]
    metadata: NotRequired[Mapping[str, str | int | float | bool | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedJob:
    """A job that was accepted: it, the hold on its price and the idempotency key are on the disk.

    `replayed` says that the key had been used before, and that this is the job of that time.
    """

    job_id: str
    status: Status
    status_url: str
    idempotency_key: str
    replayed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a job would be and cost. `available` is what the account can spend now."""

    price: Decimal
    tier: Tier
    mode: Mode
    aspect_ratio: AspectRatio
    resolution: Resolution
    available: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What has become of a job. The URL is signed and valid for 24 hours; each lookup makes a new one."""

    image_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as it was when it was looked up."""

    job_id: str
    status: Status
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    result: Result | None
    error: str | None
    queue_position: int | None
    estimated_start_at: datetime | None = None
    """When a queued job will begin, by how many have begun in the last minutes; `None` without data."""

    @property
    def is_over(self) -> bool:
        """Is it `done` or `failed`?"""
        return self.status in ("done", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedJob(Job):
    """A job as the list tells it."""

    tier: Tier
    mode: Mode
    aspect_ratio: AspectRatio
    resolution: Resolution
    price: Decimal
    key_id: str
    # Of a job of a batch only.
    batch_id: str | None
    custom_id: str | None


class BatchRequest(TypedDict, total=False):
    """One request of a batch. `custom_id` is your name for it, unique in the batch; its position as text if not said.

    With `input_images_urls` it is image-to-image; they are fetched when its turn comes.
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
    """How many jobs of a batch are in which state."""

    total: int
    queued: int
    processing: int
    done: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch as it was when it was looked up.

    `price` is the sum of its jobs' prices, `charged` that of the jobs that are done so far; a job that fails is not charged.
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
        """Are all of its jobs `done` or `failed`?"""
        return self.status == "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedBatch(Batch):
    """A batch that was accepted: it, its jobs, the hold on their prices and the idempotency key are on the disk.

    `replayed` says that the key had been used before, and that this is the batch of that time.
    """

    idempotency_key: str
    replayed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEstimate:
    """What a batch would cost. `available` is what the account can spend now."""

    price: Decimal
    requests: int
    available: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """What has become of one request of a batch so far."""

    custom_id: str
    job_id: str
    status: Status
    result: Result | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusEvent:
    """A job has come to another state."""

    job: Job


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEvent:
    """The place of a queued job has changed; 1 is the next to be made."""

    job_id: str
    queue_position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressEvent:
    """How far a job is, from 0 to 1, where its backend tells."""

    job_id: str
    progress: float


JobEvent: TypeAlias = StatusEvent | QueueEvent | ProgressEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """An account's money: `reserved` is held for jobs that are not over, `available` is the rest of `balance`."""

    balance: Decimal
    reserved: Decimal
    available: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A line of the account's ledger. A charge is negative."""

    transaction_id: str
    kind: Literal["deposit", "charge", "adjustment"]
    amount: Decimal
    balance_after: Decimal
    job_id: str | None
    reference: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A tier: what it takes, what it costs by resolution, and whether this key may use it now."""

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
    """So many requests per second, and so many at once after a quiet time."""

    per_second: int
    burst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What the key in hand may do, and what it has spent."""

    key_id: str
    name: str
    models: tuple[Tier, ...]
    active: bool
    expires_at: datetime | None
    spend_limit: Decimal | None
    spent: Decimal
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
    """A part of a list, newest first. The list is at its end when `next_cursor` is `None`, and not before."""

    data: tuple[T, ...]
    next_cursor: str | None
