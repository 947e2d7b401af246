// Looks jobs up, waits for them, cancels them, fetches their pictures.

import * as calls from "./calls.js";
import { ApiError, JobFailedError, JobUnfinishedError } from "./errors.js";
import { isTimeout, untilRead } from "./alarm.js";
import { errorOf } from "./failures.js";
import { follow } from "./events.js";
import { JOB, waitFor } from "./wait.js";
import { inWords } from "./transport.js";
import type { Transport } from "./transport.js";
import type { CallOptions, Job, JobEvent, JobFilter, JobRef, ListedJob, Page, WaitOptions, Window } from "./types.js";

const PAGE = ["data", "next_cursor"] as const;
/** What the service calls a job that was taken back. */
const CANCELED = "canceled";

/** The account's jobs. */
export class Jobs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The job as it is now. */
  get(job: JobRef, options: CallOptions = {}): Promise<Job> {
    return this.#transport.fetch<Job>(calls.lookup(job, options), JOB);
  }

  /**
   * The job once it is over, `done` or `failed`. Outlives a restart of the service. Throws `WaitTimeoutError` when it is not over
   * after `waitTimeout` milliseconds.
   */
  wait(job: JobRef, options: WaitOptions = {}): Promise<Job> {
    return waitFor(this.#transport, job, options);
  }

  /**
   * The job's states, its place in the queue and its progress as they come, up to the last state. Comes back by itself when the stream
   * breaks off, and outlives a restart of the service.
   */
  events(job: JobRef, options: CallOptions = {}): AsyncGenerator<JobEvent, void, undefined> {
    return follow(this.#transport, calls.events(job, options), calls.idOf(job));
  }

  /** Takes a job back that is still queued. Throws an `ApiError` with the code `conflict` for one that has begun or is over. */
  async cancel(job: JobRef, options: CallOptions = {}): Promise<Job> {
    try {
      return await this.#transport.fetch<Job>(calls.cancel(job, options), JOB);
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "conflict" && error.attempts > 1)) throw error;
      // An attempt whose answer was lost may have been the one that did it.
      const found = await this.get(job, options);
      if (found.status === "failed" && found.error === CANCELED) return found;
      throw error;
    }
  }

  /** The picture, at a fresh URL. Throws `JobFailedError` or `JobUnfinishedError` where there is none. */
  async download(job: JobRef, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.#atItsUrl(job, options, async (url) => (await this.#transport.exchange(calls.picture(url, options))).body);
  }

  /** The same as a `Response` whose body has not been read, to be passed on as a stream. It is asked for once. */
  async open(job: JobRef, options: CallOptions = {}): Promise<Response> {
    return this.#atItsUrl(job, options, async (url) => {
      const call = calls.picture(url, options);
      const request = this.#transport.request(call);
      const alarm = this.#transport.alarm(call);
      try {
        const response = await this.#transport.open(request, alarm);
        if (!response.ok) {
          const body = new Uint8Array(await response.arrayBuffer());
          throw errorOf({ kind: "answer", response, body }, inWords(call), { attempts: 1 });
        }
        // From here on it takes as long as whoever reads it.
        alarm.calm();
        return untilRead(response, () => alarm.end());
      } catch (cause) {
        alarm.end();
        options.signal?.throwIfAborted();
        if (cause instanceof ApiError) throw cause;
        throw errorOf({ kind: "fault", cause, isTimeout: isTimeout(cause) }, inWords(call), { attempts: 1 });
      }
    });
  }

  /** A page of jobs, newest first. */
  list(wanted: JobFilter & Window = {}, options: CallOptions = {}): Promise<Page<ListedJob>> {
    return this.#transport.fetch<Page<ListedJob>>(calls.get("/jobs", options, calls.listed(wanted)), PAGE);
  }

  /** All jobs, newest first, page by page as they are needed. */
  iterate(wanted: JobFilter = {}, options: CallOptions = {}): AsyncGenerator<ListedJob, void, undefined> {
    return everyPage((cursor) => this.list({ ...wanted, limit: 100, cursor }, options));
  }

  async #atItsUrl<T>(job: JobRef, options: CallOptions, fetch: (url: string) => Promise<T>): Promise<T> {
    try {
      return await fetch(urlOf(await this.get(job, options)));
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "url_expired")) throw error;
      // A short lifetime and a long pause between two attempts: the next lookup makes a new one.
      return fetch(urlOf(await this.get(job, options)));
    }
  }
}

/** Every entry of a list. */
export async function* everyPage<T>(turn: (cursor?: string) => Promise<Page<T>>): AsyncGenerator<T, void, undefined> {
  let page = await turn();
  yield* page.data;
  while (page.next_cursor !== null) {
    page = await turn(page.next_cursor);
    yield* page.data;
  }
}

/** Throws unless a job is done. */
export function assertDone(job: Job): void {
  if (job.status === "failed") throw new JobFailedError(`job ${job.job_id} has failed: ${job.error}`, job.job_id, job);
}

function urlOf(job: Job): string {
  assertDone(job);
  if (job.result !== null) return job.result.image_url;
  const text = `job ${job.job_id} is ${job.status}; wait for it before its picture is fetched`;
  throw new JobUnfinishedError(text, job.job_id, job);
}
