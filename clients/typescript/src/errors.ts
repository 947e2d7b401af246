// The errors. `ApiError.code` identifies an error of the service.
//
// Not with the type `ErrorOptions`: the library of ES2020, which a caller may compile for, does not have it.

import type { Batch, Job } from "./types.js";

/** Every code of the service, and its HTTP status. */
export const ERROR_CODES = {
  unauthorized: 401,
  insufficient_balance: 402,
  key_limit_reached: 402,
  account_limit_reached: 402,
  model_not_allowed: 403,
  address_not_allowed: 403,
  forbidden: 403,
  invalid_signature: 403,
  url_expired: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  gone: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  validation_failed: 422,
  idempotency_key_reused: 422,
  rate_limited: 429,
  internal: 500,
  storage_unavailable: 502,
  paused: 503,
  overloaded: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** The base class of all errors of this package. */
export class TintypeError extends Error {
  override name = "TintypeError";
}

/** An invalid argument. The client sent nothing. */
export class ArgumentError extends TintypeError {
  override name = "ArgumentError";
}

/** Facts about a failed call. */
export interface CallFacts {
  readonly attempts: number;
  readonly idempotencyKey?: string | undefined;
  readonly jobId?: string | undefined;
  readonly batchId?: string | undefined;
}

/**
 * A call that failed. `attempts` is the number of times that the client sent it. `idempotencyKey` is the key of a creation: pass it to
 * `create` or `createAndWait` to repeat the call later without a second job. `jobId` or `batchId` is set if the call is about an existing
 * job or batch. It continues; pass the id to `jobs.wait` or `batches.wait`.
 */
export class CallError extends TintypeError {
  override name = "CallError";
  readonly attempts: number;
  readonly idempotencyKey: string | undefined;
  readonly jobId: string | undefined;
  readonly batchId: string | undefined;

  constructor(message: string, facts: CallFacts, options?: { cause?: unknown }) {
    super(message, options);
    this.attempts = facts.attempts;
    this.idempotencyKey = facts.idempotencyKey;
    this.jobId = facts.jobId;
    this.batchId = facts.batchId;
  }
}

/** No answer came. The service may have received the call. */
export class ApiConnectionError extends CallError {
  override name = "ApiConnectionError";
}

/** No response arrived before the timeout. */
export class ApiTimeoutError extends ApiConnectionError {
  override name = "ApiTimeoutError";
}

/** A successful answer that is not from the service, or a download that is not an image. Check `baseUrl`. */
export class UnexpectedAnswerError extends CallError {
  override name = "UnexpectedAnswerError";
}

/** An invalid field: its JSON path, `body`, or the name of a header or a parameter; and the reason. */
export interface FieldFault {
  readonly field: string;
  readonly message: string;
}

/** An error answer, from its RFC 9457 problem details. */
export interface Problem {
  readonly status: number;
  /** Identifies the error; `null` if a proxy in front of the service answered. */
  readonly code: ErrorCode | (string & {}) | null;
  readonly title: string;
  /** The explanation, for people. */
  readonly detail: string;
  /** The id by which the operator finds the call. */
  readonly requestId: string | null;
  /** Every invalid field, for `validation_failed`. */
  readonly errors: readonly FieldFault[];
  /** The milliseconds after which to repeat the call, if the service said so. */
  readonly retryAfter: number | null;
}

/** The service answered with an error. */
export class ApiError extends CallError implements Problem {
  override name = "ApiError";
  readonly status: number;
  readonly code: Problem["code"];
  readonly title: string;
  readonly detail: string;
  readonly requestId: string | null;
  readonly errors: readonly FieldFault[];
  readonly retryAfter: number | null;

  constructor(problem: Problem, facts: CallFacts) {
    super(inOneLine(problem), facts);
    this.status = problem.status;
    this.code = problem.code;
    this.title = problem.title;
    this.detail = problem.detail;
    this.requestId = problem.requestId;
    this.errors = problem.errors;
    this.retryAfter = problem.retryAfter;
  }
}

/** Invalid fields in the message of an error. */
const SHOWN_FAULTS = 10;

function inOneLine({ status, code, title, detail, errors, requestId }: Problem): string {
  const lead = code === null ? `${status}` : `${status} ${code}`;
  // The detail has a single fault. Of many, as in a batch, the first ones are enough for a message; `errors` has them all.
  const shown = errors.length > 1 ? errors.slice(0, SHOWN_FAULTS) : [];
  const faults = shown.map((it) => `; ${it.field}: ${it.message}`).join("");
  const more = errors.length > SHOWN_FAULTS ? `; and ${errors.length - SHOWN_FAULTS} more` : "";
  return `${lead}: ${detail || title}${faults}${more}${requestId === null ? "" : ` (request ${requestId})`}`;
}

/**
 * A problem with a job. `job` is its last known state; `null` if no lookup succeeded. `idempotencyKey` is the key of its creation, if
 * `createAndWait` threw the error.
 */
export class JobError extends TintypeError {
  override name = "JobError";
  readonly jobId: string;
  readonly job: Job | null;
  readonly idempotencyKey: string | undefined;

  constructor(message: string, jobId: string, job: Job | null, options?: { cause?: unknown }) {
    super(message, options);
    this.jobId = jobId;
    this.job = job;
    this.idempotencyKey = undefined;
  }
}

/** The job failed. `job.error` gives the reason; nothing was charged. */
export class JobFailedError extends JobError {
  override name = "JobFailedError";
  declare readonly job: Job;
}

/** The job has no image yet. */
export class JobUnfinishedError extends JobError {
  override name = "JobUnfinishedError";
}

/**
 * The job did not end in time. It continues; wait for it again with its `jobId`. `cause` is the error of the last lookup, if it failed.
 */
export class WaitTimeoutError extends JobUnfinishedError {
  override name = "WaitTimeoutError";
}

/**
 * The batch did not end in time. It continues; wait for it again with its `batchId`. `batch` is its last known state; `null` if no lookup
 * succeeded. `cause` is the error of the last lookup, if it failed.
 */
export class BatchWaitTimeoutError extends TintypeError {
  override name = "BatchWaitTimeoutError";
  readonly batchId: string;
  readonly batch: Batch | null;

  constructor(message: string, batchId: string, batch: Batch | null, options?: { cause?: unknown }) {
    super(message, options);
    this.batchId = batchId;
    this.batch = batch;
  }
}

/** The delivery does not verify. */
export class WebhookVerificationError extends TintypeError {
  override name = "WebhookVerificationError";
}
