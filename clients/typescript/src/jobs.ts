// Looks up jobs, waits for them, cancels them, and downloads and deletes their images.

import { optional } from "./arguments.js";
import * as calls from "./calls.js";
import { ApiError, CallError, JobFailedError, JobUnfinishedError } from "./errors.js";
import { isTimeout, untilRead } from "./alarm.js";
import { assertImage, errorOf } from "./failures.js";
import { follow } from "./events.js";
import { JOB, waitFor } from "./wait.js";
import { inWords } from "./transport.js";
import type { Call, Transport } from "./transport.js";
import type { CallOptions, Job, JobEvent, JobFilter, JobRef, ListedJob, Page, WaitOptions, Window } from "./types.js";

const PAGE = ["data", "next_cursor"] as const;
/** The error of a canceled job. */
const CANCELED = "canceled";

/** The jobs of the account. Pass a job as its id, or as an object that an earlier call returned. */
export class Jobs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The current state of the job. */
  async get(job: JobRef, options: CallOptions = {}): Promise<Job> {
    return this.#transport.fetch<Job>(calls.lookup(calls.aboutJob(job), options), JOB);
  }

  /**
   * Waits until the job is `done` or `failed`, and resolves to it. It survives a restart of the service. It throws `WaitTimeoutError`
   * after `waitTimeout` milliseconds, by default ten minutes.
   */
  wait(job: JobRef, options: WaitOptions = {}): Promise<Job> {
    return waitFor(this.#transport, job, options);
  }

  /**
   * The states of the job, its queue positions and its progress, until the job ends. It reconnects if the stream ends early, and
   * survives a restart of the service.
   */
  events(job: JobRef, options: CallOptions = {}): AsyncGenerator<JobEvent, void, undefined> {
    return follow(this.#transport, calls.events(job, options));
  }

  /** Cancels a queued job. Throws an `ApiError` with the code `conflict` if it has started or ended. */
  async cancel(job: JobRef, options: CallOptions = {}): Promise<Job> {
    try {
      return await this.#transport.fetch<Job>(calls.cancel(calls.aboutJob(job), options), JOB);
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "conflict" && error.attempts > 1)) throw error;
      // An earlier attempt, whose answer was lost, may have canceled the job.
      const found = await this.get(job, options);
      if (found.status === "failed" && found.error === CANCELED) return found;
      throw error;
    }
  }

  /** Deletes the image of a `done` job. The job and its charge stay on record. Throws an `ApiError` with the code `conflict` if it has no image. */
  async deleteImage(job: JobRef, options: CallOptions = {}): Promise<void> {
    await this.#transport.exchange(calls.deleteImage(job, options));
  }

  /** Downloads the image. Throws `JobFailedError` or `JobUnfinishedError` if there is none. */
  async download(job: JobRef, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return this.#atItsUrl(job, options, async (call) => {
      const { response, body, attempts } = await this.#transport.exchange(call);
      assertImage(response, body.length, inWords(call), { ...call, attempts });
      return body;
    });
  }

  /** The image as a `Response` with an unread body, to forward it as a stream. The client does not repeat this download. */
  async open(job: JobRef, options: CallOptions = {}): Promise<Response> {
    return this.#atItsUrl(job, options, async (call) => {
      const request = this.#transport.request(call);
      const alarm = this.#transport.alarm(call);
      try {
        const response = await this.#transport.open(request, alarm);
        if (!response.ok) {
          const body = new Uint8Array(await response.arrayBuffer());
          throw errorOf({ kind: "answer", response, body }, inWords(call), { ...call, attempts: 1 }, true);
        }
        const length = response.headers.get("content-length");
        assertImage(response, response.body === null || length === "0" ? 0 : null, inWords(call), { ...call, attempts: 1 });
        return untilRead(response, alarm, this.#transport.timeout(call));
      } catch (cause) {
        alarm.end();
        call.signal?.throwIfAborted();
        if (cause instanceof CallError) throw cause;
        throw errorOf({ kind: "fault", cause, isTimeout: isTimeout(cause) }, inWords(call), { ...call, attempts: 1 });
      }
    });
  }

  /** A page of jobs, newest first. */
  async list(wanted: JobFilter & Window = {}, options: CallOptions = {}): Promise<Page<ListedJob>> {
    return this.#transport.fetch<Page<ListedJob>>(calls.get("/jobs", options, calls.listed(wanted)), PAGE);
  }

  /** All jobs, newest first. It fetches pages on demand. */
  iterate(wanted: JobFilter = {}, options: CallOptions = {}): AsyncGenerator<ListedJob, void, undefined> {
    return everyPage((cursor) => this.list({ ...optional("filters", wanted), limit: 100, cursor }, options));
  }

  async #atItsUrl<T>(job: JobRef, options: CallOptions, fetch: (call: Call) => Promise<T>): Promise<T> {
    const image = async (): Promise<Call> => {
      const found = await this.get(job, options);
      return calls.image(urlOf(found), found.job_id, options);
    };
    try {
      return await fetch(await image());
    } catch (error) {
      if (!(error instanceof ApiError && isUrlExpired(error))) throw error;
      // The pauses between attempts can outlast a URL with a short lifetime. The next lookup returns a new one.
      return fetch(await image());
    }
  }
}

/** All entries of a list, page by page. */
export async function* everyPage<T>(fetch: (cursor?: string) => Promise<Page<T>>): AsyncGenerator<T, void, undefined> {
  let page = await fetch();
  yield* page.data;
  while (page.next_cursor !== null) {
    page = await fetch(page.next_cursor);
    yield* page.data;
  }
}

/** Throws unless a job is done. */
export function assertDone(job: Job): void {
  if (job.status === "failed") throw new JobFailedError(`job ${job.job_id} failed: ${job.error}`, job.job_id, job);
}

/** Whether an image may be found at a new URL. A bucket says so by status only. */
function isUrlExpired({ status, code }: ApiError): boolean {
  return code === "url_expired" || (status === 403 && code === null);
}

function urlOf(job: Job): string {
  assertDone(job);
  if (job.result !== null) return job.result.image_url;
  const text = `job ${job.job_id} is ${job.status} and has no image yet; wait for it`;
  throw new JobUnfinishedError(text, job.job_id, job);
}
