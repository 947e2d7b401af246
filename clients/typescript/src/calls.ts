// The calls of the API as data: what a client sends, independent of how.

import { cancelAfterHeader, idOf, optional, requestsOf, shown } from "./arguments.js";
import { ArgumentError } from "./errors.js";
import { PREFIX } from "./transport.js";
import type { Call } from "./transport.js";
import type {
  BatchRef,
  BatchRequest,
  CallOptions,
  CreateBatchOptions,
  CreateOptions,
  GenerationParams,
  JobFilter,
  JobRef,
  TransactionFilter,
  UsageFilter,
  Window,
} from "./types.js";

const PATHS = { fast: "/nb", quality: "/nb2", pro: "" } as const;

/** What a call is about: its path, and the id of the existing job or batch, for errors. */
type Subject = Pick<Call, "path" | "jobId" | "batchId">;

/** A job, or a part of it. */
export function aboutJob(job: JobRef, part = ""): Subject {
  const jobId = idOf(job, "job_id");
  return { path: `${PREFIX}/jobs/${encodeURIComponent(jobId)}${part}`, jobId };
}

/** A batch, or a part of it. */
export function aboutBatch(batch: BatchRef, part = ""): Subject {
  const batchId = idOf(batch, "batch_id");
  return { path: `${PREFIX}/batches/${encodeURIComponent(batchId)}${part}`, batchId };
}

/** A generation call; without a key, a dry run. */
export function generation(params: GenerationParams, idempotencyKey: string | null, options: CreateOptions): Call {
  const { idempotencyKey: _, cancelAfter, ...rest } = optional("options", options);
  const { tier, ...body } = (params ?? {}) as GenerationParams;
  if (typeof tier !== "string" || !Object.hasOwn(PATHS, tier)) {
    throw new ArgumentError(`tier must be one of ${Object.keys(PATHS).join(", ")}, not ${shown(tier)}`);
  }
  const mode = (body.input_images_urls ?? null) === null ? "text" : "url";
  const call = creation(`${PREFIX}${PATHS[tier]}/${mode}-generations`, body, idempotencyKey, rest);
  return { ...call, headers: cancelAfterHeader(cancelAfter) };
}

function creation(path: string, body: object, idempotencyKey: string | null, options: CallOptions): Call {
  const call = { ...options, method: "POST", path, body: textOfBody(path, body) } as const;
  return idempotencyKey === null ? { ...call, query: [["dry_run", "true"]] } : { ...call, idempotencyKey };
}

/** Written once: the caller may change its objects between two attempts, which carry the same key. */
function textOfBody(path: string, body: object): string {
  try {
    return JSON.stringify(body, finite);
  } catch (cause) {
    throw new ArgumentError(`POST ${path} cannot be sent: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** Rejects numbers that JSON does not have. `JSON.stringify` would write `null`. */
function finite(name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${name} is ${value}, which JSON does not have`);
  return value;
}

/** The call that creates a batch; without a key, a dry run. */
export function batch(requests: Iterable<BatchRequest>, idempotencyKey: string | null, options: CreateBatchOptions): Call {
  const { metadata, callbackUrl, idempotencyKey: _, ...rest } = optional("options", options);
  const body = { requests: requestsOf(requests), metadata, callback_url: callbackUrl };
  return creation(`${PREFIX}/batches`, body, idempotencyKey, rest);
}

/** The results of a batch, one per line. */
export function batchResults(ref: BatchRef, options: CallOptions): Call {
  return { ...lookup(aboutBatch(ref, "/results"), options), headers: { accept: "application/x-ndjson" } };
}

/** Looks up a job or a batch. */
export function lookup(subject: Subject, options: CallOptions): Call {
  return { ...optional("options", options), method: "GET", ...subject };
}

/** The same when it has ended, or after so many seconds. The caller does not need the answer after `limit` milliseconds. */
export function wait(subject: Subject, options: CallOptions, seconds: number, limit: number): Call {
  return { ...lookup(subject, options), query: [["wait", String(seconds)]], patience: seconds * 1000, limit };
}

/** Cancels a queued job, or what is still queued of a batch. */
export function cancel(subject: Subject, options: CallOptions): Call {
  return { ...optional("options", options), method: "DELETE", ...subject };
}

/** Deletes the image of a job. */
export function deleteImage(job: JobRef, options: CallOptions): Call {
  return cancel(aboutJob(job, "/image"), options);
}

/** The stream of a job's events. */
export function events(job: JobRef, options: CallOptions): Call {
  return lookup(aboutJob(job, "/events"), options);
}

/** The image of a job at its signed URL. */
export function image(url: string, jobId: string, options: CallOptions): Call {
  return { ...lookup({ path: url, jobId }, options), headers: { accept: "image/*" } };
}

/** A call that reads something. */
export function get(path: string, options: CallOptions, query: [string, string][] = []): Call {
  return { ...lookup({ path: PREFIX + path }, options), query };
}

/** The parameters that select a page of a list, and entries of it. */
export function listed(wanted: JobFilter & (UsageFilter | TransactionFilter) & Window): [string, string][] {
  const { metadata, ...rest } = optional("filters", wanted);
  const members = Object.entries(metadata ?? {}).map(([name, value]): [string, string] => [`metadata[${name}]`, textOf(value)]);
  const others = Object.entries(rest).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === null ? [] : [[name, value instanceof Date ? timeOf(name, value) : String(value)]],
  );
  return [...others, ...members];
}

function timeOf(name: string, moment: Date): string {
  if (Number.isNaN(moment.getTime())) throw new ArgumentError(`${name} is not a valid Date`);
  return moment.toISOString();
}

/** A member of metadata as the service compares it: text unchanged, every other value as JSON. */
function textOf(value: string | number | boolean | null): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
