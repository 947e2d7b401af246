// The client: one service, one API key.

import { assertWaitTimeout, keyOrNew, optional } from "./arguments.js";
import { Batches } from "./batches.js";
import * as calls from "./calls.js";
import { CallError, JobError } from "./errors.js";
import { everyPage, Jobs, assertDone } from "./jobs.js";
import { inWords, Transport } from "./transport.js";
import type { ClientOptions } from "./transport.js";
import { typed } from "./failures.js";
import { DEFAULT_WAIT } from "./wait.js";
import type {
  Balance,
  CallOptions,
  CreatedJob,
  CreateOptions,
  Estimate,
  GenerationParams,
  Job,
  Key,
  Model,
  Page,
  Transaction,
  TransactionFilter,
  Usage,
  UsageFilter,
  WaitOptions,
  Window,
} from "./types.js";

/**
 * A client of one service with one API key. It repeats a call that failed temporarily up to `maxRetries` times. This is safe, because
 * each creation carries an idempotency key.
 */
export class Tintype {
  /** Sends the calls. For tests. */
  readonly transport: Transport;
  /** Creates jobs. */
  readonly generations: Generations;
  /** Looks up jobs, waits for them, cancels them, and downloads and deletes their images. */
  readonly jobs: Jobs;
  /** Creates many jobs with one call. */
  readonly batches: Batches;
  /** Reads the ledger of the account. */
  readonly transactions: Transactions;

  constructor(options: ClientOptions | Transport = {}) {
    this.transport = options instanceof Transport ? options : new Transport(options);
    this.jobs = new Jobs(this.transport);
    this.generations = new Generations(this.transport, this.jobs);
    this.batches = new Batches(this.transport);
    this.transactions = new Transactions(this.transport);
  }

  /** The balance of the account. */
  async balance(options: CallOptions = {}): Promise<Balance> {
    return this.transport.fetch<Balance>(calls.get("/balance", options), ["balance", "reserved", "available"]);
  }

  /** The usage of the account by UTC day, key, model and resolution, oldest first. It fetches pages on demand. */
  usage(filter: UsageFilter = {}, options: CallOptions = {}): AsyncGenerator<Usage, void, undefined> {
    return everyPage((cursor) => {
      const call = calls.get("/usage", options, calls.listed({ ...optional("filters", filter), limit: 100, cursor }));
      return this.transport.fetch<Page<Usage>>(call, ["data", "next_cursor"]);
    });
  }

  /** The tiers with their ratios, sizes and prices, and whether this key may use them now. */
  async models(options: CallOptions = {}): Promise<readonly Model[]> {
    return (await this.transport.fetch<Page<Model>>(calls.get("/models", options), ["data"])).data;
  }

  /** The permissions, limits and spending of this API key. */
  async key(options: CallOptions = {}): Promise<Key> {
    return this.transport.fetch<Key>(calls.get("/key", options), ["key_id", "models"]);
  }

  /** The same client with other options. */
  withOptions(options: Pick<ClientOptions, "timeout" | "maxRetries">): Tintype {
    return new Tintype(this.transport.withOptions(options));
  }
}

/** Creates jobs. */
export class Generations {
  readonly #transport: Transport;
  readonly #jobs: Jobs;

  constructor(transport: Transport, jobs: Jobs) {
    this.#transport = transport;
    this.#jobs = jobs;
  }

  /**
   * Creates a job and reserves its price. It resolves when both are on the disk of the service. By default the client generates an
   * `idempotencyKey`, which is in the returned job and in every error (`CallError.idempotencyKey`).
   */
  async create(params: GenerationParams, options: CreateOptions = {}): Promise<CreatedJob> {
    return this.#create(params, options, Infinity);
  }

  async #create(params: GenerationParams, options: CreateOptions, end: number): Promise<CreatedJob> {
    const idempotencyKey = keyOrNew(optional("options", options).idempotencyKey);
    const call = calls.generation(params, idempotencyKey, options);
    const { response, body, attempts } = await this.#transport.exchange(call, end);
    const names = ["job_id", "status", "status_url"] as const;
    const made = typed<CreatedJob>(response, body, names, inWords(call), { ...call, attempts });
    return { ...made, idempotencyKey, replayed: response.headers.get("idempotent-replayed") === "true" };
  }

  /**
   * Creates a job and waits until it is done. Throws `JobFailedError`, or `WaitTimeoutError` after `waitTimeout` milliseconds, counted
   * from the creation. The creation itself is not repeated after `waitTimeout` milliseconds.
   *
   * If waiting fails, the job continues. Every error after the creation has the `jobId`, for `jobs.wait`, and the `idempotencyKey`,
   * with which this call returns the same job again. The reason of your `signal` has neither: if you may abort, pass your own key.
   */
  async createAndWait(params: GenerationParams, options: CreateOptions & WaitOptions = {}): Promise<Job> {
    const { idempotencyKey, cancelAfter, waitTimeout = DEFAULT_WAIT, ...rest } = optional("options", options);
    // Before the job is created.
    assertWaitTimeout(waitTimeout);
    const end = this.#transport.now() + (waitTimeout ?? Infinity);
    const made = await this.#create(params, { ...rest, idempotencyKey, cancelAfter }, end);
    try {
      const job = await this.#jobs.wait(made, { ...rest, waitTimeout });
      assertDone(job);
      return job;
    } catch (error) {
      // The job exists and may be charged. Without its id and key, the caller would create a second one.
      if (error instanceof CallError || error instanceof JobError) Object.assign(error, { idempotencyKey: made.idempotencyKey });
      throw error;
    }
  }

  /** Runs every check of `create` and returns the price, but creates nothing. It throws what `create` would throw. */
  async dryRun(params: GenerationParams, options: CallOptions = {}): Promise<Estimate> {
    return this.#transport.fetch<Estimate>(calls.generation(params, null, options), ["price", "available"]);
  }
}

/** The ledger of the account. */
export class Transactions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A page of the ledger, newest first. */
  async list(wanted: TransactionFilter & Window = {}, options: CallOptions = {}): Promise<Page<Transaction>> {
    const call = calls.get("/transactions", options, calls.listed(wanted));
    return this.#transport.fetch<Page<Transaction>>(call, ["data", "next_cursor"]);
  }

  /** All entries of the ledger, newest first. It fetches pages on demand. */
  iterate(wanted: TransactionFilter = {}, options: CallOptions = {}): AsyncGenerator<Transaction, void, undefined> {
    return everyPage((cursor) => this.list({ ...optional("filters", wanted), limit: 100, cursor }, options));
  }
}
