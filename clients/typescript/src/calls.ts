// The calls of the interface as data: what is sent, apart from how.

import { ArgumentError } from "./errors.js";
import { PREFIX } from "./transport.js";
import type { Call } from "./transport.js";
import type {
  BatchRef,
  BatchRequest,
  CallOptions,
  CreateBatchOptions,
  GenerationParams,
  JobFilter,
  JobRef,
  Window,
} from "./types.js";

const PATHS = { fast: "/nb", quality: "/nb2", pro: "" } as const;

/** The id of a job, however it is named. */
export function idOf(job: JobRef): string {
  const id = typeof job === "string" ? job : job.job_id;
  if (id === "") throw new ArgumentError("the job_id is empty");
  return id;
}

function jobPath(job: JobRef): string {
  return `${PREFIX}/jobs/${encodeURIComponent(idOf(job))}`;
}

/** A generation call; one that is only tried out where there is no key. */
export function generation(params: GenerationParams, idempotencyKey: string | null, options: CallOptions): Call {
  const { tier, ...body } = params;
  const path = PATHS[tier] as string | undefined;
  if (path === undefined) throw new ArgumentError(`tier must be one of ${Object.keys(PATHS).join(", ")}, not ${String(tier)}`);
  const mode = (body.input_images_urls ?? null) === null ? "text" : "url";
  return creation(`${PREFIX}${path}/${mode}-generations`, body, idempotencyKey, options);
}

function creation(path: string, body: object, idempotencyKey: string | null, options: CallOptions): Call {
  const call = { ...options, method: "POST", path, body } as const;
  return idempotencyKey === null ? { ...call, query: [["dry_run", "true"]] } : { ...call, idempotencyKey };
}

/** The call that makes a batch; one that is only tried out where there is no key. */
export function batch(requests: Iterable<BatchRequest>, idempotencyKey: string | null, options: CreateBatchOptions): Call {
  const { metadata, callbackUrl, idempotencyKey: _, ...rest } = options;
  const body = { requests: [...requests], metadata, callback_url: callbackUrl };
  return creation(`${PREFIX}/batches`, body, idempotencyKey, rest);
}

/** The id of a batch, however it is named. */
export function batchIdOf(ref: BatchRef): string {
  const id = typeof ref === "string" ? ref : ref.batch_id;
  if (id === "") throw new ArgumentError("the batch_id is empty");
  return id;
}

function batchPath(ref: BatchRef): string {
  return `${PREFIX}/batches/${encodeURIComponent(batchIdOf(ref))}`;
}

/** A batch. */
export function batchLookup(ref: BatchRef, options: CallOptions): Call {
  return { ...options, method: "GET", path: batchPath(ref) };
}

/** A batch once it is over, or after so many seconds; of no more use after `limit` milliseconds. */
export function batchWait(ref: BatchRef, options: CallOptions, seconds: number, limit: number): Call {
  return { ...batchLookup(ref, options), query: [["wait", String(seconds)]], patience: seconds * 1000, limit };
}

/** Cancels what is still queued of a batch. */
export function batchCancel(ref: BatchRef, options: CallOptions): Call {
  return { ...options, method: "DELETE", path: batchPath(ref) };
}

/** What has become of each request of a batch. */
export function batchResults(ref: BatchRef, options: CallOptions): Call {
  return { ...options, method: "GET", path: `${batchPath(ref)}/results`, headers: { accept: "application/x-ndjson" } };
}

/** A job. */
export function lookup(job: JobRef, options: CallOptions): Call {
  return { ...options, method: "GET", path: jobPath(job) };
}

/** A job once it is over, or after so many seconds; of no more use after `limit` milliseconds. */
export function wait(job: JobRef, options: CallOptions, seconds: number, limit: number): Call {
  return { ...lookup(job, options), query: [["wait", String(seconds)]], patience: seconds * 1000, limit };
}

/** Takes back a job that is still queued. */
export function cancel(job: JobRef, options: CallOptions): Call {
  return { ...options, method: "DELETE", path: jobPath(job) };
}

/** The states of a job. */
export function events(job: JobRef, options: CallOptions): Call {
  return { ...options, method: "GET", path: `${jobPath(job)}/events` };
}

/** A picture at its signed URL, to which the API key is nobody's business. */
export function picture(url: string, options: CallOptions): Call {
  return { ...options, method: "GET", path: url, headers: { accept: "image/*" } };
}

/** What is read. */
export function get(path: string, options: CallOptions, query: [string, string][] = []): Call {
  return { ...options, method: "GET", path: PREFIX + path, query };
}

/** Which part of a list, and of jobs which ones. */
export function listed(wanted: JobFilter & Window): [string, string][] {
  const { metadata = {}, ...rest } = wanted;
  const members = Object.entries(metadata).map(([name, value]): [string, string] => [`metadata[${name}]`, textOf(value)]);
  const others = Object.entries(rest).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : String(value)]],
  );
  return [...others, ...members];
}

/** A member of metadata as lists compare it: a string as it is, everything else by its JSON text. */
function textOf(value: string | number | boolean | null): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
