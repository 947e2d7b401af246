"""The exceptions. `ApiError` has a subclass for each error code of the service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .types import Batch, Job


# Invalid fields in the message of an exception.
SHOWN_FAULTS = 10


class TintypeError(Exception):
    """The base class of all exceptions of this package."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the exception with all attributes except its cause."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[TintypeError], args: tuple[object, ...], attributes: dict[str, object]) -> TintypeError:
    # Without calling the class, as `Exception` would: the constructors have more parameters than `args`.
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class ArgumentError(TintypeError, ValueError):
    """An invalid argument. The client sent nothing."""


class CallError(TintypeError):
    """A call that failed.

    `attempts` is the number of times that the client sent it. `idempotency_key` is the key of a creation: pass it to `create`
    or `create_and_wait` to repeat the call later without a second job. `job_id` or `batch_id` is set if the call is about an
    existing job or batch. It continues; pass the id to `jobs.wait` or `batches.wait`.
    """

    def __init__(self, message: str, *, attempts: int = 1, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        self.attempts = attempts
        self.idempotency_key = idempotency_key
        self.job_id: str | None = None
        self.batch_id: str | None = None


class ApiConnectionError(CallError):
    """No answer came. The service may have received the call, unless it refused the connection."""


class ApiTimeoutError(ApiConnectionError):
    """No response arrived before the timeout."""


class UnexpectedAnswerError(CallError):
    """A successful answer that is not from the service, or a download that is not an image. Check `base_url`."""


@dataclass(frozen=True, slots=True)
class FieldFault:
    """An invalid field: its JSON path, `body`, or the name of a header or a parameter; and the reason."""

    field: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error answer, from its RFC 9457 problem details.

    `code` identifies the error. It is `None` if a proxy in front of the service answered. `retry_after` is in seconds.
    """

    status: int
    code: str | None
    title: str
    detail: str
    request_id: str | None
    errors: tuple[FieldFault, ...] = ()
    retry_after: float | None = None


class ApiError(CallError):
    """The service answered with an error."""

    def __init__(self, problem: Problem, *, attempts: int = 1, idempotency_key: str | None = None) -> None:
        super().__init__(in_one_line(problem), attempts=attempts, idempotency_key=idempotency_key)
        self.problem = problem

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.problem.status

    @property
    def code(self) -> str | None:
        """The stable error code; `None` if the answer is from a proxy."""
        return self.problem.code

    @property
    def detail(self) -> str:
        """The explanation, for people."""
        return self.problem.detail

    @property
    def errors(self) -> tuple[FieldFault, ...]:
        """Every invalid field, of a `ValidationError`."""
        return self.problem.errors

    @property
    def request_id(self) -> str | None:
        """The id by which the operator finds the call."""
        return self.problem.request_id

    @property
    def retry_after(self) -> float | None:
        """The seconds after which to repeat the call, if the service said so."""
        return self.problem.retry_after


def in_one_line(problem: Problem) -> str:
    """An error in one line."""
    lead = f"{problem.status} {problem.code}" if problem.code else f"{problem.status}"
    # The detail has a single fault. Of many, as in a batch, the first ones are enough for a message; `errors` has them all.
    shown = problem.errors[:SHOWN_FAULTS] if len(problem.errors) > 1 else ()
    faults = "".join(f"; {it.field}: {it.message}" for it in shown)
    if len(problem.errors) > SHOWN_FAULTS:
        faults += f"; and {len(problem.errors) - SHOWN_FAULTS} more"
    request = f" (request {problem.request_id})" if problem.request_id else ""
    return f"{lead}: {problem.detail or problem.title}{faults}{request}"


class UnauthorizedError(ApiError):
    """401 `unauthorized`: the API key is missing, invalid, expired or inactive."""


class InsufficientBalanceError(ApiError):
    """402 `insufficient_balance`: the available balance of the account does not cover the price."""


class KeyLimitReachedError(ApiError):
    """402 `key_limit_reached`: a spend limit of the API key does not cover the price."""


class AccountLimitReachedError(ApiError):
    """402 `account_limit_reached`: a spend limit of the account does not cover the price."""


class ModelNotAllowedError(ApiError):
    """403 `model_not_allowed`: the API key is not scoped for this tier."""


class AddressNotAllowedError(ApiError):
    """403 `address_not_allowed`: the API key does not permit the caller's address."""


class ForbiddenError(ApiError):
    """403 `forbidden`: the signed-in person lacks the permission. Only the panel answers it."""


class InvalidSignatureError(ApiError):
    """403 `invalid_signature`: the signature of the download URL is invalid."""


class UrlExpiredError(ApiError):
    """403 `url_expired`: the download URL has expired; look up the job again."""


class NotFoundError(ApiError):
    """404 `not_found`: it does not exist, or belongs to another account."""


class MethodNotAllowedError(ApiError):
    """405 `method_not_allowed`."""


class RequestTimeoutError(ApiError):
    """408 `request_timeout`: the body of the request arrived too slowly."""


class ConflictError(ApiError):
    """409 `conflict`: the job has started or ended and cannot be canceled."""


class GoneError(ApiError):
    """410 `gone`: the image was deleted, on demand or at the end of its retention."""


class PayloadTooLargeError(ApiError):
    """413 `payload_too_large`."""


class UnsupportedMediaTypeError(ApiError):
    """415 `unsupported_media_type`."""


class RangeNotSatisfiableError(ApiError):
    """416 `range_not_satisfiable`: the requested range is outside the image."""


class ValidationError(ApiError):
    """422 `validation_failed`: `errors` has every invalid field."""


class IdempotencyKeyReusedError(ApiError):
    """422 `idempotency_key_reused`: the key belongs to another request."""


class RateLimitedError(ApiError):
    """429 `rate_limited`: too many calls of this key, or too many live jobs of the account."""


class InternalError(ApiError):
    """500 `internal`: tell the operator the `request_id`."""


class StorageUnavailableError(ApiError):
    """502 `storage_unavailable`: the object store failed."""


class PausedError(ApiError):
    """503 `paused`: the service or the tier is paused."""


class OverloadedError(ApiError):
    """503 `overloaded`: the queue is full, or the service is about to restart."""


BY_CODE: Mapping[str, type[ApiError]] = {
    "unauthorized": UnauthorizedError,
    "insufficient_balance": InsufficientBalanceError,
    "key_limit_reached": KeyLimitReachedError,
    "account_limit_reached": AccountLimitReachedError,
    "model_not_allowed": ModelNotAllowedError,
    "address_not_allowed": AddressNotAllowedError,
    "forbidden": ForbiddenError,
    "invalid_signature": InvalidSignatureError,
    "url_expired": UrlExpiredError,
    "not_found": NotFoundError,
    "method_not_allowed": MethodNotAllowedError,
    "request_timeout": RequestTimeoutError,
    "conflict": ConflictError,
    "gone": GoneError,
    "payload_too_large": PayloadTooLargeError,
    "unsupported_media_type": UnsupportedMediaTypeError,
    "range_not_satisfiable": RangeNotSatisfiableError,
    "validation_failed": ValidationError,
    "idempotency_key_reused": IdempotencyKeyReusedError,
    "rate_limited": RateLimitedError,
    "internal": InternalError,
    "storage_unavailable": StorageUnavailableError,
    "paused": PausedError,
    "overloaded": OverloadedError,
}


class JobError(TintypeError):
    """A problem with a job. `job` is its last known state; `None` if no lookup succeeded.

    `idempotency_key` is the key of its creation, if `create_and_wait` raised the exception.
    """

    def __init__(self, message: str, job_id: str, job: Job | None) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.job = job
        self.idempotency_key: str | None = None


class JobFailedError(JobError):
    """The job failed. `job.error` gives the reason; nothing was charged."""

    job: Job


class JobUnfinishedError(JobError):
    """The job has no image yet."""


class WaitTimeoutError(JobUnfinishedError):
    """The job did not end in time. It continues; wait for it again with its `job_id`.

    `__cause__` is the error of the last lookup, if it failed.
    """


class BatchWaitTimeoutError(TintypeError):
    """The batch did not end in time. It continues; wait for it again with its `batch_id`.

    `batch` is its last known state; `None` if no lookup succeeded. `__cause__` is the error of the last lookup, if it failed.
    """

    def __init__(self, message: str, batch_id: str, batch: Batch | None) -> None:
        super().__init__(message)
        self.batch_id = batch_id
        self.batch = batch


class WebhookVerificationError(TintypeError):
    """The delivery does not verify."""
