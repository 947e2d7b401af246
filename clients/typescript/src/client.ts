// The client: one service, one API key.

import { Batches } from "./batches.js";
import * as calls from "./calls.js";
import { CallError, JobError } from "./errors.js";
import { everyPage, Jobs, assertDone } from "./jobs.js";
import { inWords, Transport } from "./transport.js";
import type { ClientOptions } from "./transport.js";
import { typed } from "./failures.js";
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
  WaitOptions,
  Window,
} from "./types.js";

/**
 * A client of one service with one API key. A call that fails for a passing reason is sent again up to `maxRetries` times; that is
 * safe, for each generation call carries an idempotency key.
 */
export class Tintype {
  /** How calls are sent. For tests. */
  readonly transport: Transport;
  /** Makes pictures. */
  readonly generations: Generations;
  /** Looks jobs up, waits for them, cancels them, fetches their pictures. */
  readonly jobs: Jobs;
  /** Makes many pictures by one call. */
  readonly batches: Batches;
  /** The account's ledger. */
  readonly transactions: Transactions;

  constructor(options: ClientOptions = {}) {
    this.transport = new Transport(options);
    this.jobs = new Jobs(this.transport);
    this.generations = new Generations(this.transport, this.jobs);
    this.batches = new Batches(this.transport);
    this.transactions = new Transactions(this.transport);
  }

  /** The account's money. */
  balance(options: CallOptions = {}): Promise<Balance> {
    return this.transport.fetch<Balance>(calls.get("/balance", options), ["balance", "reserved", "available"]);
  }

  /** The tiers with their ratios, sizes and prices, and whether this key may use them now. */
  async models(options: CallOptions = {}): Promise<readonly Model[]> {
    return (await this.transport.fetch<Page<Model>>(calls.get("/models", options), ["data"])).data;
  }

  /** What this key may do. */
  key(options: CallOptions = {}): Promise<Key> {
    return this.transport.fetch<Key>(calls.get("/key", options), ["key_id", "models"]);
  }
}

/** The generation calls. */
export class Generations {
  readonly #transport: Transport;
  readonly #jobs: Jobs;

  constructor(transport: Transport, jobs: Jobs) {
    this.#transport = transport;
    this.#jobs = jobs;
  }

  /**
   * Makes a job and holds its price. Resolves once both are on the service's disk. Where no `idempotencyKey` is given, one is
   * made up and is in the answer, and in the error if there is one (`CallError.idempotencyKey`).
   */
  async create(params: GenerationParams, options: CreateOptions = {}): Promise<CreatedJob> {
    const { idempotencyKey = crypto.randomUUID(), ...rest } = options;
    const call = calls.generation(params, idempotencyKey, rest);
    const { response, body, attempts } = await this.#transport.exchange(call);
    const names = ["job_id", "status", "status_url"] as const;
    const made = typed<CreatedJob>(response, body, names, inWords(call), { attempts, idempotencyKey });
    return { ...made, idempotencyKey, replayed: response.headers.get("idempotent-replayed") === "true" };
  }

  /**
   * Makes a job and waits until it is done. Throws `JobFailedError`, or `WaitTimeoutError` after `waitTimeout` milliseconds.
   *
   * The job goes on where waiting for it fails. Every error from there on has its `jobId`, for `jobs.wait`, and the `idempotencyKey`,
   * with which this call finds the same job again. The reason of a `signal` of yours has neither: name a key of your own where you
   * may abort.
   */
  async createAndWait(params: GenerationParams, options: CreateOptions & WaitOptions = {}): Promise<Job> {
    const { idempotencyKey, waitTimeout, ...rest } = options;
    const made = await this.create(params, { ...rest, idempotencyKey });
    try {
      const job = await this.#jobs.wait(made, { ...rest, waitTimeout });
      assertDone(job);
      return job;
    } catch (error) {
      // The job is there and may be paid for: whoever only knew that something failed would make a second one.
      if (error instanceof CallError || error instanceof JobError) Object.assign(error, { idempotencyKey: made.idempotencyKey });
      throw error;
    }
  }

  /** Every check of `create` and the price, and nothing kept. What `create` would refuse is refused in the same way. */
  dryRun(params: GenerationParams, options: CallOptions = {}): Promise<Estimate> {
    return this.#transport.fetch<Estimate>(calls.generation(params, null, options), ["price", "available"]);
  }
}

/** The account's ledger. */
export class Transactions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A page of the ledger, newest first. */
  list(wanted: Window = {}, options: CallOptions = {}): Promise<Page<Transaction>> {
    const call = calls.get("/transactions", options, calls.listed(wanted));
    return this.#transport.fetch<Page<Transaction>>(call, ["data", "next_cursor"]);
  }

  /** The whole ledger, newest first, page by page as it is needed. */
  iterate(options: CallOptions = {}): AsyncGenerator<Transaction, void, undefined> {
    return everyPage((cursor) => this.list({ limit: 100, cursor }, options));
  }
}
