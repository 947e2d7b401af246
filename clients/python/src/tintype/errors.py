"""What can go wrong, as exceptions: below `ApiError` one class for each `code` that the service answers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .types import Batch, Job


class TintypeError(Exception):
    """Everything that this package raises of its own."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Survives the way from one process to another, with all that it holds but its cause."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[TintypeError], args: tuple[object, ...], held: dict[str, object]) -> TintypeError:
    # Not by calling the class, as `Exception` has it: what these are made from is more than their text.
    error = kind.__new__(kind, *args)
    error.__dict__.update(held)
    return error


class ArgumentError(TintypeError, ValueError):
    """What a call was given cannot be sent, and nothing was."""


class CallError(TintypeError):
    """A call that did not succeed.

    `attempts` is how often it was sent. `idempotency_key` is the key that a generation call was sent with: give it to
    `create` or `create_and_wait` again to repeat the call later, and it will never be two jobs. `job_id` is there once there
    is a job, which goes on whatever becomes of the calls that look at it: give it to `jobs.wait`.
    """

    def __init__(self, message: str, *, attempts: int = 1, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        self.attempts = attempts
        self.idempotency_key = idempotency_key
        self.job_id: str | None = None
        # Of a call that looks at a batch while it is waited for.
        self.batch_id: str | None = None


class ApiConnectionError(CallError):
    """No answer came. Whether the service has heard the call is not known, but for a connection that was refused."""


class ApiTimeoutError(ApiConnectionError):
    """No answer came in time."""


class UnexpectedAnswerError(CallError):
    """An answer of success that is not the service's. `base_url` may point at something else."""


@dataclass(frozen=True, slots=True)
class FieldFault:
    """One faulty field: its JSON path, `body`, or the name of a header or a parameter; and what is wrong with it."""

    field: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error answer, as RFC 9457 problem details tell it.

    `code` is what errors are told apart by; it is `None` where something between here and the service has answered.
    `retry_after` is in seconds.
    """

    status: int
    code: str | None
    title: str
    detail: str
    request_id: str | None
    errors: tuple[FieldFault, ...] = ()
    retry_after: float | None = None


class ApiError(CallError):
    """The service has answered with an error."""

    def __init__(self, problem: Problem, *, attempts: int = 1, idempotency_key: str | None = None) -> None:
        super().__init__(told(problem), attempts=attempts, idempotency_key=idempotency_key)
        self.problem = problem

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.problem.status

    @property
    def code(self) -> str | None:
        """The stable word; `None` when the answer is not the service's own."""
        return self.problem.code

    @property
    def detail(self) -> str:
        """What was wrong this time, for people."""
        return self.problem.detail

    @property
    def errors(self) -> tuple[FieldFault, ...]:
        """Every faulty field, of a `ValidationError`."""
        return self.problem.errors

    @property
    def request_id(self) -> str | None:
        """What the operator finds the call by."""
        return self.problem.request_id

    @property
    def retry_after(self) -> float | None:
        """Seconds after which a repeat makes sense, where the service says so."""
        return self.problem.retry_after


def told(problem: Problem) -> str:
    """An error in one line."""
    lead = f"{problem.status} {problem.code}" if problem.code else f"{problem.status}"
    faults = "".join(f"; {it.field}: {it.message}" for it in problem.errors) if len(problem.errors) > 1 else ""
    request = f" (request {problem.request_id})" if problem.request_id else ""
    return f"{lead}: {problem.detail or problem.title}{faults}{request}"


class UnauthorizedError(ApiError):
    """401 `unauthorized`: the API key is missing, invalid, expired or switched off."""


class InsufficientBalanceError(ApiError):
    """402 `insufficient_balance`: what the account has available does not cover the price."""


class KeyLimitReachedError(ApiError):
    """402 `key_limit_reached`: the API key's own spend limit does not cover the price."""


class AccountLimitReachedError(ApiError):
    """402 `account_limit_reached`: a spend limit that the operator has set for the account does not cover the price."""


class ModelNotAllowedError(ApiError):
    """403 `model_not_allowed`: the API key is not scoped for this tier."""


class AddressNotAllowedError(ApiError):
    """403 `address_not_allowed`: the API key may not be used from here."""


class ForbiddenError(ApiError):
    """403 `forbidden`: not allowed to whoever is signed in; answered by the panel."""


class InvalidSignatureError(ApiError):
    """403 `invalid_signature`: a download URL that the service has not signed."""


class UrlExpiredError(ApiError):
    """403 `url_expired`: a download URL whose time is over; look the job up again."""


class NotFoundError(ApiError):
    """404 `not_found`: unknown, or another account's; the two are not told apart."""


class MethodNotAllowedError(ApiError):
    """405 `method_not_allowed`."""


class RequestTimeoutError(ApiError):
    """408 `request_timeout`: the body of the request came too slowly."""


class ConflictError(ApiError):
    """409 `conflict`: the job has begun or is over, and can no longer be canceled."""


class GoneError(ApiError):
    """410 `gone`: the picture was removed when its retention ended."""


class PayloadTooLargeError(ApiError):
    """413 `payload_too_large`."""


class UnsupportedMediaTypeError(ApiError):
    """415 `unsupported_media_type`."""


class RangeNotSatisfiableError(ApiError):
    """416 `range_not_satisfiable`: the asked-for part lies outside the picture."""


class ValidationError(ApiError):
    """422 `validation_failed`: `errors` names every faulty field."""


class IdempotencyKeyReusedError(ApiError):
    """422 `idempotency_key_reused`: the key belongs to another request."""


class RateLimitedError(ApiError):
    """429 `rate_limited`: too many calls of this key, or too many live jobs of the account."""


class InternalError(ApiError):
    """500 `internal`: tell the operator the `request_id`."""


class StorageUnavailableError(ApiError):
    """502 `storage_unavailable`: the object store has failed."""


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
    """Of a job, which is in `job` as it was last seen; `None` where it was not seen at all.

    `idempotency_key` is the key that it was made with, from `create_and_wait`.
    """

    def __init__(self, message: str, job_id: str, job: Job | None) -> None:
        super().__init__(message)
        self.job_id = job_id
        self.job = job
        self.idempotency_key: str | None = None


class JobFailedError(JobError):
    """The job has failed; `job.error` says why, and nothing was charged for it."""

    job: Job


class JobUnfinishedError(JobError):
    """The job has no picture yet."""


class WaitTimeoutError(JobUnfinishedError):
    """The job was not over when the time for waiting was. It goes on; wait for it again by its `job_id`.

    What the last lookup ran into, if it did, is in `__cause__`.
    """


class BatchWaitTimeoutError(TintypeError):
    """The batch was not over when the time for waiting was. It goes on; wait for it again by its `batch_id`.

    `batch` is the batch as it was last seen; `None` where it was not seen at all. What the last lookup ran into, if it did, is
    in `__cause__`.
    """

    def __init__(self, message: str, batch_id: str, batch: Batch | None) -> None:
        super().__init__(message)
        self.batch_id = batch_id
        self.batch = batch


class WebhookVerificationError(TintypeError):
    """A delivery that is not to be believed."""
