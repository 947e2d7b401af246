// Batches: many requests in one call.

import * as calls from "./calls.js";
import { BatchWaitTimeoutError } from "./errors.js";
import { everyPage } from "./jobs.js";
import { typed } from "./failures.js";
import { inWords } from "./transport.js";
import type { Transport } from "./transport.js";
import { waitUntilOver } from "./wait.js";
import type {
  Batch,
  BatchEstimate,
  BatchRef,
  BatchRequest,
  BatchResult,
  CallOptions,
  CreateBatchOptions,
  CreatedBatch,
  Page,
  WaitOptions,
  Window,
} from "./types.js";

/** What every batch has. */
const BATCH = ["batch_id", "status", "counts"] as const;
const RESULT = ["custom_id", "job_id", "status"] as const;
const DEFAULT_WAIT = 3_600_000;

/** The account's batches. Each call takes a batch, or its id. */
export class Batches {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Makes a job of each request, all or none, and holds the sum of their prices. Where no `idempotencyKey` is given, one is made up and
   * is in the answer, and in the error if there is one (`CallError.idempotencyKey`).
   */
  async create(requests: Iterable<BatchRequest>, options: CreateBatchOptions = {}): Promise<CreatedBatch> {
    const { idempotencyKey = crypto.randomUUID() } = options;
    const call = calls.batch(requests, idempotencyKey, options);
    const { response, body, attempts } = await this.#transport.exchange(call);
    const made = typed<CreatedBatch>(response, body, BATCH, inWords(call), { attempts, idempotencyKey });
    return { ...made, idempotencyKey, replayed: response.headers.get("idempotent-replayed") === "true" };
  }

  /** Every check of `create` and the price, and nothing kept. Input images are not fetched. */
  dryRun(requests: Iterable<BatchRequest>, options: CallOptions = {}): Promise<BatchEstimate> {
    return this.#transport.fetch<BatchEstimate>(calls.batch(requests, null, options), ["price", "requests"]);
  }

  /** The batch as it is now. */
  get(batch: BatchRef, options: CallOptions = {}): Promise<Batch> {
    return this.#transport.fetch<Batch>(calls.batchLookup(batch, options), BATCH);
  }

  /**
   * The batch once all of its jobs are over. Outlives a restart of the service. Throws `BatchWaitTimeoutError` when it is not over after
   * `waitTimeout` milliseconds, an hour if not said.
   */
  wait(batch: BatchRef, options: WaitOptions = {}): Promise<Batch> {
    const { waitTimeout = DEFAULT_WAIT, ...rest } = options;
    const batchId = calls.batchIdOf(batch);
    return waitUntilOver<Batch>(this.#transport, waitTimeout, rest, {
      name: `batch ${batchId}`,
      names: BATCH,
      facts: {},
      call: (seconds, limit) => calls.batchWait(batch, rest, seconds, limit),
      isOver: ({ status }) => status === "ended",
      late: (text, seen, cause) => new BatchWaitTimeoutError(text, batchId, seen, cause),
    });
  }

  /** What has become of each request so far, in their order. `jobs.download` takes the `job_id` of one. */
  async results(batch: BatchRef, options: CallOptions = {}): Promise<readonly BatchResult[]> {
    const call = calls.batchResults(batch, options);
    const { response, body, attempts } = await this.#transport.exchange(call);
    const lines = new TextDecoder().decode(body).split("\n").filter((line) => line !== "");
    const encoder = new TextEncoder();
    return lines.map((line) => typed<BatchResult>(response, encoder.encode(line), RESULT, inWords(call), { attempts }));
  }

  /** Cancels what is still queued. Throws an `ApiError` with the code `conflict` for a batch that is over. */
  cancel(batch: BatchRef, options: CallOptions = {}): Promise<Batch> {
    return this.#transport.fetch<Batch>(calls.batchCancel(batch, options), BATCH);
  }

  /** A page of batches, newest first. */
  list(wanted: Window = {}, options: CallOptions = {}): Promise<Page<Batch>> {
    return this.#transport.fetch<Page<Batch>>(calls.get("/batches", options, calls.listed(wanted)), ["data", "next_cursor"]);
  }

  /** All batches, newest first, page by page as they are needed. */
  iterate(options: CallOptions = {}): AsyncGenerator<Batch, void, undefined> {
    return everyPage((cursor) => this.list({ limit: 100, cursor }, options));
  }
}
