// What can go wrong. Errors of the service are told apart by `ApiError.code`.

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

/** Everything that this package throws of its own. */
export class TintypeError extends Error {
  override name = "TintypeError";
}

/** What a call was given cannot be sent, and nothing was. */
export class ArgumentError extends TintypeError {
  override name = "ArgumentError";
}

/** What is known of a call that did not succeed. */
export interface CallFacts {
  readonly attempts: number;
  readonly idempotencyKey?: string | undefined;
  readonly jobId?: string | undefined;
}

/**
 * A call that did not succeed. `attempts` is how often it was sent. `idempotencyKey` is the key that a generation call was sent
 * with: give it to `create` or `createAndWait` again to repeat the call later, and it will never be two jobs. `jobId` is there
 * once there is a job, which goes on whatever becomes of the calls that look at it: give it to `jobs.wait`.
 */
export class CallError extends TintypeError {
  override name = "CallError";
  readonly attempts: number;
  readonly idempotencyKey: string | undefined;
  readonly jobId: string | undefined;

  constructor(message: string, facts: CallFacts, options?: ErrorOptions) {
    super(message, options);
    this.attempts = facts.attempts;
    this.idempotencyKey = facts.idempotencyKey;
    this.jobId = facts.jobId;
  }
}

/** No answer came. Whether the service has heard the call is not known. */
export class ApiConnectionError extends CallError {
  override name = "ApiConnectionError";
}

/** No answer came in time. */
export class ApiTimeoutError extends ApiConnectionError {
  override name = "ApiTimeoutError";
}

/** An answer of success that is not the service's. `baseUrl` may point at something else. */
export class UnexpectedAnswerError extends CallError {
  override name = "UnexpectedAnswerError";
}

/** One faulty field: its JSON path, `body`, or the name of a header or a parameter; and what is wrong with it. */
export interface FieldFault {
  readonly field: string;
  readonly message: string;
}

/** An error answer, as RFC 9457 problem details tell it. */
export interface Problem {
  readonly status: number;
  /** What errors are told apart by; `null` where something between here and the service has answered. */
  readonly code: ErrorCode | (string & {}) | null;
  readonly title: string;
  /** What was wrong this time, for people. */
  readonly detail: string;
  /** What the operator finds the call by. */
  readonly requestId: string | null;
  /** Every faulty field, for `validation_failed`. */
  readonly errors: readonly FieldFault[];
  /** Milliseconds after which a repeat makes sense, where the service says so. */
  readonly retryAfter: number | null;
}

/** The service has answered with an error. */
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
    super(told(problem), facts);
    this.status = problem.status;
    this.code = problem.code;
    this.title = problem.title;
    this.detail = problem.detail;
    this.requestId = problem.requestId;
    this.errors = problem.errors;
    this.retryAfter = problem.retryAfter;
  }
}

function told({ status, code, title, detail, errors, requestId }: Problem): string {
  const lead = code === null ? `${status}` : `${status} ${code}`;
  const faults = errors.length > 1 ? errors.map((it) => `; ${it.field}: ${it.message}`).join("") : "";
  return `${lead}: ${detail || title}${faults}${requestId === null ? "" : ` (request ${requestId})`}`;
}

/**
 * Of a job, which is in `job` as it was last seen; `null` where it was not seen at all. `idempotencyKey` is the key that it was made
 * with, from `createAndWait`.
 */
export class JobError extends TintypeError {
  override name = "JobError";
  readonly jobId: string;
  readonly job: Job | null;
  readonly idempotencyKey: string | undefined;

  constructor(message: string, jobId: string, job: Job | null, options?: ErrorOptions) {
    super(message, options);
    this.jobId = jobId;
    this.job = job;
    this.idempotencyKey = undefined;
  }
}

/** The job has failed; `job.error` says why, and nothing was charged for it. */
export class JobFailedError extends JobError {
  override name = "JobFailedError";
  declare readonly job: Job;
}

/** The job has no picture yet. */
export class JobUnfinishedError extends JobError {
  override name = "JobUnfinishedError";
}

/**
 * The job was not over when the time for waiting was. It goes on; wait for it again by its `jobId`. What the last lookup ran into, if
 * it did, is in `cause`.
 */
export class WaitTimeoutError extends JobUnfinishedError {
  override name = "WaitTimeoutError";
}

/**
 * The batch was not over when the time for waiting was. It goes on; wait for it again by its `batchId`. `batch` is the batch as it was
 * last seen; what the last lookup ran into, if it did, is in `cause`.
 */
export class BatchWaitTimeoutError extends TintypeError {
  override name = "BatchWaitTimeoutError";
  readonly batchId: string;
  readonly batch: Batch | null;

  constructor(message: string, batchId: string, batch: Batch | null, options?: ErrorOptions) {
    super(message, options);
    this.batchId = batchId;
    this.batch = batch;
  }
}

/** A delivery that is not to be believed. */
export class WebhookVerificationError extends TintypeError {
  override name = "WebhookVerificationError";
}
