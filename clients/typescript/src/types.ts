// What is sent and what comes back, with the names of the wire. Money is a decimal string, moments are RFC 3339 in UTC.

export type Tier = "fast" | "quality" | "pro";
export type Mode = "text-to-image" | "image-to-image";
export type Status = "queued" | "processing" | "done" | "failed";
export type BatchStatus = "in_progress" | "canceling" | "ended";
export type Resolution = "1K" | "2K" | "4K";
export type AspectRatio =
  | "1:1" | "2:3" | "3:2" | "3:4" | "4:3" | "4:5" | "5:4" | "9:16" | "16:9" | "21:9"
  | "1:4" | "4:1" | "1:8" | "8:1" | "auto";
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue };

/**
 * What a picture is asked for by. With `input_images_urls` (1 to 14, http or https) it is image-to-image. `aspect_ratio`
 * `"auto"` follows the first of them. `callback_url` names one of the account's registered webhooks. `metadata` comes back with
 * the webhook, without its own names that begin with `_`.
 */
export type GenerationParams = {
  readonly prompt: string;
  readonly aspect_ratio: AspectRatio;
  readonly input_images_urls?: readonly string[] | null | undefined;
  readonly callback_url?: string | null | undefined;
  readonly metadata?: { readonly [name: string]: JsonValue } | null | undefined;
} & (
  | { readonly tier: "fast"; readonly resolution?: null | undefined }
  | { readonly tier: "quality" | "pro"; readonly resolution?: Resolution | null | undefined }
);

/** Which jobs a list holds. `metadata` names members that a job's must have. */
export interface JobFilter {
  readonly status?: Status | undefined;
  readonly tier?: Tier | undefined;
  readonly mode?: Mode | undefined;
  readonly key?: string | undefined;
  readonly batch_id?: string | undefined;
  readonly created_after?: Date | string | undefined;
  readonly created_before?: Date | string | undefined;
  readonly metadata?: { readonly [name: string]: string | number | boolean | null } | undefined;
}

/** Which part of a list. `limit` is 1 to 100, 20 if not said. */
export interface Window {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** What holds for one call. `timeout` is in milliseconds. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeout?: number | undefined;
  readonly maxRetries?: number | undefined;
}

/** The same for a call that makes a job. */
export interface CreateOptions extends CallOptions {
  /** The caller's name for the request: the same one with the same parameters is the same job, for 24 hours. */
  readonly idempotencyKey?: string | undefined;
}

/** The same for waiting. `waitTimeout` is in milliseconds, ten minutes if not said; `null` for as long as it takes. */
export interface WaitOptions extends CallOptions {
  readonly waitTimeout?: number | null | undefined;
}

/** A job that was accepted: it, the hold on its price and the idempotency key are on the disk. */
export interface CreatedJob {
  readonly job_id: string;
  readonly status: Status;
  readonly status_url: string;
  readonly idempotencyKey: string;
  /** The key had been used before, and this is the job of that time. */
  readonly replayed: boolean;
}

/** What a job would be and cost. `available` is what the account can spend now. */
export interface Estimate {
  readonly price: string;
  readonly tier: Tier;
  readonly mode: Mode;
  readonly aspect_ratio: AspectRatio;
  readonly resolution: Resolution;
  readonly available: string;
}

/** What has become of a job. The URL is signed and valid for 24 hours; each lookup makes a new one. */
export interface Result {
  readonly image_url: string;
}

/** A job as it was when it was looked up. */
export interface Job {
  readonly job_id: string;
  readonly status: Status;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly result: Result | null;
  readonly error: string | null;
  readonly queue_position: number | null;
  /** When a queued job will begin, by how many have begun in the last minutes; null without data. */
  readonly estimated_start_at: string | null;
}

/** A job as the list tells it. */
export interface ListedJob extends Job {
  readonly tier: Tier;
  readonly mode: Mode;
  readonly aspect_ratio: AspectRatio;
  readonly resolution: Resolution;
  readonly price: string;
  readonly key_id: string;
  /** Of a job of a batch only. */
  readonly batch_id: string | null;
  /** Of a job of a batch only. */
  readonly custom_id: string | null;
}

/**
 * One request of a batch. `custom_id` is your name for it, unique in the batch; its position as text if not said. With
 * `input_images_urls` it is image-to-image; they are fetched when its turn comes.
 */
export interface BatchRequest {
  readonly model: Tier;
  readonly prompt: string;
  readonly aspect_ratio: AspectRatio;
  readonly custom_id?: string | null | undefined;
  readonly resolution?: Resolution | null | undefined;
  readonly input_images_urls?: readonly string[] | null | undefined;
  readonly metadata?: { readonly [name: string]: JsonValue } | null | undefined;
}

/** The same for a call that makes a batch. `callbackUrl` names the registered webhook that hears of its end. */
export interface CreateBatchOptions extends CreateOptions {
  readonly metadata?: { readonly [name: string]: JsonValue } | null | undefined;
  readonly callbackUrl?: string | null | undefined;
}

/** How many jobs of a batch are in which state. */
export interface BatchCounts {
  readonly total: number;
  readonly queued: number;
  readonly processing: number;
  readonly done: number;
  readonly failed: number;
}

/**
 * A batch as it was when it was looked up. `price` is the sum of its jobs' prices, `charged` that of the jobs that are done so far; a job
 * that fails is not charged.
 */
export interface Batch {
  readonly batch_id: string;
  readonly status: BatchStatus;
  readonly created_at: string;
  readonly ended_at: string | null;
  readonly counts: BatchCounts;
  readonly price: string;
  readonly charged: string;
  readonly metadata: { readonly [name: string]: unknown } | null;
  readonly results_url: string;
}

/** A batch that was accepted: it, its jobs, the hold on their prices and the idempotency key are on the disk. */
export interface CreatedBatch extends Batch {
  readonly idempotencyKey: string;
  /** The key had been used before, and this is the batch of that time. */
  readonly replayed: boolean;
}

/** What a batch would cost. `available` is what the account can spend now. */
export interface BatchEstimate {
  readonly price: string;
  readonly requests: number;
  readonly available: string;
}

/** What has become of one request of a batch so far. */
export interface BatchResult {
  readonly custom_id: string;
  readonly job_id: string;
  readonly status: Status;
  readonly result: Result | null;
  readonly error: string | null;
}

/** A batch, by its id or as an earlier call returned it. */
export type BatchRef = string | { readonly batch_id: string };

/** A job, by its id or as an earlier call returned it. */
export type JobRef = string | { readonly job_id: string };

/**
 * A job has come to another state; its place in the queue has changed, where 1 is the next to be made; or how far it is, from 0 to 1,
 * where its backend tells.
 */
export type JobEvent =
  | { readonly type: "status"; readonly job: Job }
  | { readonly type: "queue"; readonly job_id: string; readonly queue_position: number }
  | { readonly type: "progress"; readonly job_id: string; readonly progress: number };

/** An account's money: `reserved` is held for jobs that are not over, `available` is the rest of `balance`. */
export interface Balance {
  readonly balance: string;
  readonly reserved: string;
  readonly available: string;
}

/** A line of the account's ledger. A charge is negative. */
export interface Transaction {
  readonly transaction_id: string;
  readonly kind: "deposit" | "charge" | "adjustment";
  readonly amount: string;
  readonly balance_after: string;
  readonly job_id: string | null;
  readonly reference: string | null;
  readonly created_at: string;
}

/** A tier: what it takes, what it costs by resolution, and whether this key may use it now. */
export interface Model {
  readonly id: Tier;
  readonly modes: readonly Mode[];
  readonly aspect_ratios: readonly AspectRatio[];
  readonly resolutions: readonly Resolution[];
  readonly prices: Readonly<Partial<Record<Resolution, string>>>;
  readonly paused: boolean;
  readonly paused_reason?: string | null;
  readonly allowed: boolean;
}

/** What the key in hand may do, and what it has spent. */
export interface Key {
  readonly key_id: string;
  readonly name: string;
  readonly models: readonly Tier[];
  readonly active: boolean;
  readonly expires_at: string | null;
  readonly spend_limit: string | null;
  readonly spent: string;
  readonly spend_limit_monthly?: string | null;
  readonly spent_this_month?: string | null;
  readonly spend_limit_daily?: string | null;
  readonly spent_today?: string | null;
  readonly rate_limit: { readonly per_second: number; readonly burst: number } | null;
  readonly max_concurrent?: number | null;
  readonly allowed_ips?: readonly string[] | null;
  readonly created_at: string;
}

/** A part of a list, newest first. The list is at its end when `next_cursor` is `null`, and not before. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}
