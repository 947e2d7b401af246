// Batches: many requests in one call.

import { idOf, keyOrNew, optional } from "./arguments.js";
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

/** Some members of every batch. */
const BATCH = ["batch_id", "status", "counts"] as const;
const RESULT = ["custom_id", "job_id", "status"] as const;
const DEFAULT_WAIT = 3_600_000;

/** The batches of the account. Pass a batch as its id, or as an object that an earlier call returned. */
export class Batches {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Creates a job for each request, all or none, and reserves the sum of their prices. By default the client generates an
   * `idempotencyKey`, which is in the returned batch and in every error (`CallError.idempotencyKey`).
   */
  async create(requests: Iterable<BatchRequest>, options: CreateBatchOptions = {}): Promise<CreatedBatch> {
    const idempotencyKey = keyOrNew(optional("options", options).idempotencyKey);
    const call = calls.batch(requests, idempotencyKey, options);
    const { response, body, attempts } = await this.#transport.exchange(call);
    const made = typed<CreatedBatch>(response, body, BATCH, inWords(call), { ...call, attempts });
    return { ...made, idempotencyKey, replayed: response.headers.get("idempotent-replayed") === "true" };
  }

  /** Runs every check of `create` and returns the price, but creates nothing. It fetches no input images. */
  async dryRun(requests: Iterable<BatchRequest>, options: CallOptions = {}): Promise<BatchEstimate> {
    return this.#transport.fetch<BatchEstimate>(calls.batch(requests, null, options), ["price", "requests"]);
  }

  /** The current state of the batch. */
  async get(batch: BatchRef, options: CallOptions = {}): Promise<Batch> {
    return this.#transport.fetch<Batch>(calls.lookup(calls.aboutBatch(batch), options), BATCH);
  }

  /**
   * Waits until all jobs of the batch have ended, and resolves to it. It survives a restart of the service. It throws
   * `BatchWaitTimeoutError` after `waitTimeout` milliseconds, by default an hour.
   */
  async wait(batch: BatchRef, options: WaitOptions = {}): Promise<Batch> {
    const { waitTimeout = DEFAULT_WAIT, ...rest } = optional("options", options);
    const batchId = idOf(batch, "batch_id");
    return waitUntilOver<Batch>(this.#transport, waitTimeout, rest, {
      name: `batch ${batchId}`,
      names: BATCH,
      call: (seconds, limit) => calls.wait(calls.aboutBatch(batch), rest, seconds, limit),
      isOver: ({ status }) => status === "ended",
      timedOut: (text, seen, cause) => new BatchWaitTimeoutError(text, batchId, seen, cause),
    });
  }

  /** The results so far, in the order of the requests. Pass a result to `jobs.download` to get its image. */
  async results(batch: BatchRef, options: CallOptions = {}): Promise<readonly BatchResult[]> {
    const call = calls.batchResults(batch, options);
    const { response, body, attempts } = await this.#transport.exchange(call);
    const lines = new TextDecoder().decode(body).split("\n").filter((line) => line !== "");
    const encoder = new TextEncoder();
    return lines.map((line) => typed<BatchResult>(response, encoder.encode(line), RESULT, inWords(call), { ...call, attempts }));
  }

  /** Cancels the queued jobs of the batch. Throws an `ApiError` with the code `conflict` if all jobs have ended without it. */
  async cancel(batch: BatchRef, options: CallOptions = {}): Promise<Batch> {
    return this.#transport.fetch<Batch>(calls.cancel(calls.aboutBatch(batch), options), BATCH);
  }

  /** A page of batches, newest first. */
  async list(wanted: Window = {}, options: CallOptions = {}): Promise<Page<Batch>> {
    return this.#transport.fetch<Page<Batch>>(calls.get("/batches", options, calls.listed(wanted)), ["data", "next_cursor"]);
  }

  /** All batches, newest first. It fetches pages on demand. */
  iterate(options: CallOptions = {}): AsyncGenerator<Batch, void, undefined> {
    return everyPage((cursor) => this.list({ limit: 100, cursor }, options));
  }
}
