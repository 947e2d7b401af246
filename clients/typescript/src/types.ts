// The types of parameters and answers, with the names of the API. Amounts are decimal strings, times are RFC 3339 in UTC.

export type Tier = "fast" | "quality" | "pro";
export type Mode = "text-to-image" | "image-to-image";
export type Status = "queued" | "processing" | "done" | "failed";
export type BatchStatus = "in_progress" | "canceling" | "ended";
export type TransactionKind = "deposit" | "charge" | "adjustment";
export type Resolution = "1K" | "2K" | "4K";
export type AspectRatio =
  | "1:1" | "2:3" | "3:2" | "3:4" | "4:3" | "4:5" | "5:4" | "9:16" | "16:9" | "21:9"
  | "1:4" | "4:1" | "1:8" | "8:1" | "auto";
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue };

/**
 * The parameters of an image. With `input_images_urls` (1 to 14, http or https) the mode is image-to-image, and `aspect_ratio` `"auto"`
 * selects the ratio of the first one. `resolution` defaults to `"1K"`. `callback_url` selects one of the account's registered webhooks.
 * The webhook contains `metadata` without the top-level names that begin with `_`.
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

/** The conditions for jobs in a list. `metadata` has members that the metadata of a job must have. */
export interface JobFilter {
  readonly status?: Status | null | undefined;
  readonly tier?: Tier | null | undefined;
  readonly mode?: Mode | null | undefined;
  readonly key?: string | null | undefined;
  readonly batch_id?: string | null | undefined;
  readonly created_after?: Date | string | null | undefined;
  readonly created_before?: Date | string | null | undefined;
  readonly metadata?: { readonly [name: string]: string | number | boolean | null } | null | undefined;
}

/** The conditions for entries of the ledger. Both times are included. */
export interface TransactionFilter {
  readonly kind?: TransactionKind | null | undefined;
  readonly job_id?: string | null | undefined;
  readonly from?: Date | string | null | undefined;
  readonly to?: Date | string | null | undefined;
}

/** Selects a page of a list. `limit` is 1 to 100, by default 20; `cursor` is the `next_cursor` of the page before. */
export interface Window {
  readonly limit?: number | null | undefined;
  readonly cursor?: string | null | undefined;
}

/** The options of one call. `timeout` is in milliseconds. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeout?: number | undefined;
  readonly maxRetries?: number | undefined;
}

/** The options of a call that creates a job or a batch. */
export interface IdempotentOptions extends CallOptions {
  /** For 24 hours, the same key with the same parameters returns the same job or batch. By default the client generates one. */
  readonly idempotencyKey?: string | null | undefined;
}

/** The options of a call that creates a job. */
export interface CreateOptions extends IdempotentOptions {
  /** Milliseconds after which a job that is still queued fails. It is not charged. */
  readonly cancelAfter?: number | null | undefined;
}

/** The options of waiting. `waitTimeout` is in milliseconds; `null` means no limit. */
export interface WaitOptions extends CallOptions {
  readonly waitTimeout?: number | null | undefined;
}

/** An accepted job. The job, its reserved price and its idempotency key are on the disk of the service. */
export interface CreatedJob {
  readonly job_id: string;
  readonly status: Status;
  readonly status_url: string;
  readonly idempotencyKey: string;
  /** Whether an earlier call with the same key created the job. */
  readonly replayed: boolean;
}

/** The resolved parameters and the price of a dry run. `available` is what the account can spend now. */
export interface Estimate {
  readonly price: string;
  readonly tier: Tier;
  readonly mode: Mode;
  readonly aspect_ratio: AspectRatio;
  readonly resolution: Resolution;
  readonly available: string;
}

/** The image of a job. The URL is signed and valid for 24 hours; each lookup returns a new one. */
export interface Result {
  readonly image_url: string;
}

/** The state of a job at the time of the answer. */
export interface Job {
  readonly job_id: string;
  readonly status: Status;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly result: Result | null;
  readonly error: string | null;
  readonly queue_position: number | null;
  /** The estimated start of a queued job, from the throughput of the last minutes; `null` without data. */
  readonly estimated_start_at: string | null;
}

/** A job in a list. */
export interface ListedJob extends Job {
  readonly tier: Tier;
  readonly mode: Mode;
  readonly aspect_ratio: AspectRatio;
  readonly resolution: Resolution;
  readonly price: string;
  readonly key_id: string;
  /** `null` unless the job belongs to a batch. */
  readonly batch_id: string | null;
  /** `null` unless the job belongs to a batch. */
  readonly custom_id: string | null;
}

/**
 * One request of a batch. `custom_id` is your name for the request, unique in the batch; it defaults to the position as text. With
 * `input_images_urls` the mode is image-to-image. The service fetches these images when the job starts.
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

/** The options of a call that creates a batch. `callbackUrl` selects the registered webhook that reports its end. */
export interface CreateBatchOptions extends IdempotentOptions {
  readonly metadata?: { readonly [name: string]: JsonValue } | null | undefined;
  readonly callbackUrl?: string | null | undefined;
}

/** The numbers of a batch's jobs by state. */
export interface BatchCounts {
  readonly total: number;
  readonly queued: number;
  readonly processing: number;
  readonly done: number;
  readonly failed: number;
}

/**
 * The state of a batch at the time of the answer. `price` is the sum of the prices of its jobs, `charged` that of the jobs that are done.
 * A failed job is not charged.
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

/** An accepted batch. The batch, its jobs, their reserved prices and its idempotency key are on the disk of the service. */
export interface CreatedBatch extends Batch {
  readonly idempotencyKey: string;
  /** Whether an earlier call with the same key created the batch. */
  readonly replayed: boolean;
}

/** The price of a dry run of a batch. `available` is what the account can spend now. */
export interface BatchEstimate {
  readonly price: string;
  readonly requests: number;
  readonly available: string;
}

/** The result of one request of a batch. */
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
 * The job entered another state; its queue position changed, where 1 is the next to start, with its estimated start, `null` without data;
 * or its progress, from 0 to 1, if its backend reports it.
 */
export type JobEvent =
  | { readonly type: "status"; readonly job: Job }
  | {
      readonly type: "queue";
      readonly job_id: string;
      readonly queue_position: number;
      readonly estimated_start_at: string | null;
    }
  | { readonly type: "progress"; readonly job_id: string; readonly progress: number };

/** The balance of the account. `reserved` is for jobs that have not ended, `available` is the rest of `balance`. */
export interface Balance {
  readonly balance: string;
  readonly reserved: string;
  readonly available: string;
}

/** An entry of the account's ledger. The `amount` of a charge is negative. */
export interface Transaction {
  readonly transaction_id: string;
  readonly kind: TransactionKind;
  readonly amount: string;
  readonly balance_after: string;
  readonly job_id: string | null;
  readonly reference: string | null;
  readonly created_at: string;
}

/** Selects usage of UTC days, such as "2026-11-18". Both are included; by default, the range is the last 30 days. `key` is a `key_id`. */
export interface UsageFilter {
  readonly from?: string | null | undefined;
  readonly to?: string | null | undefined;
  readonly key?: string | null | undefined;
}

/** The jobs of one key that ended on one UTC day, for one model and resolution. */
export interface Usage {
  readonly day: string;
  readonly key_id: string;
  readonly key_name: string | null;
  readonly model: Tier;
  readonly resolution: Resolution;
  readonly images: number;
  readonly failed: number;
  readonly charged: string;
}

/** A tier: its parameters, its prices by resolution, and whether this key may use it now. */
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

/** The permissions, limits and spending of the API key. */
export interface Key {
  readonly key_id: string;
  readonly name: string;
  readonly models: readonly Tier[];
  readonly active: boolean;
  readonly expires_at: string | null;
  readonly spend_limit: string | null;
  readonly spent: string;
  readonly reserved?: string;
  readonly spend_limit_monthly?: string | null;
  readonly spent_this_month?: string | null;
  readonly spend_limit_daily?: string | null;
  readonly spent_today?: string | null;
  readonly rate_limit: { readonly per_second: number; readonly burst: number } | null;
  readonly max_concurrent?: number | null;
  readonly allowed_ips?: readonly string[] | null;
  readonly created_at: string;
}

/** A page of a list, newest first. Only the last page has the `next_cursor` `null`. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}
