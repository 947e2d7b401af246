// Waits for a job or a batch, with as many lookups as needed.

import { assertWaitTimeout, idOf, optional } from "./arguments.js";
import * as calls from "./calls.js";
import { WaitTimeoutError } from "./errors.js";
import { errorOf, typed } from "./failures.js";
import { pauseWhileWaiting, WHILE_WAITING } from "./retry.js";
import { inWords } from "./transport.js";
import type { Call, Transport } from "./transport.js";
import type { CallOptions, Job, JobRef, WaitOptions } from "./types.js";

/** Some members of every job. */
export const JOB = ["job_id", "status", "created_at"] as const;
/** Seconds of one waiting lookup. The service waits for up to 60, but common proxies give up then. */
const LONGEST_LOOKUP = 30;
export const DEFAULT_WAIT = 600_000;
/** How long the last lookup of a wait may take beyond the end of the wait. */
const GRACE = 5_000;

/** What a caller waits for: how to look it up, and how errors name it. */
export interface Awaited<T> {
  readonly name: string;
  /** Some of its members. */
  readonly names: readonly (keyof T & string)[];
  readonly call: (seconds: number, limit: number) => Call;
  readonly isOver: (seen: T) => boolean;
  readonly timedOut: (text: string, seen: T | null, options?: ErrorOptions) => Error;
}

/** The job when it has ended. */
export async function waitFor(transport: Transport, job: JobRef, options: WaitOptions): Promise<Job> {
  const { waitTimeout = DEFAULT_WAIT, ...rest } = optional("options", options);
  const jobId = idOf(job, "job_id");
  return waitUntilOver<Job>(transport, waitTimeout, rest, {
    name: `job ${jobId}`,
    names: JOB,
    call: (seconds, limit) => calls.wait(calls.aboutJob(job), rest, seconds, limit),
    isOver: ({ status }) => status === "done" || status === "failed",
    timedOut: (text, seen, cause) => new WaitTimeoutError(text, jobId, seen, cause),
  });
}

/** A job or a batch when it has ended; `waitTimeout` is in milliseconds. */
export async function waitUntilOver<T extends { readonly status: string }>(
  transport: Transport,
  waitTimeout: number | null,
  options: CallOptions,
  awaited: Awaited<T>,
): Promise<T> {
  assertWaitTimeout(waitTimeout);
  const { name } = awaited;
  const repeats = options.maxRetries ?? transport.maxRetries;
  const end = waitTimeout === null ? Infinity : transport.now() + waitTimeout;
  const left = (): number => Math.max(0, end - transport.now());
  let trouble = transport.now() + WHILE_WAITING;
  let seen: T | null = null;
  for (let attempt = 1; ; attempt += 1) {
    const seconds = Math.ceil(Math.min(LONGEST_LOOKUP, left() / 1000));
    const call = awaited.call(seconds, left() + GRACE);
    const facts = { ...call, attempts: attempt };
    const began = transport.now();
    const outcome = await transport.attempt(call);
    if (outcome.kind === "fault" || !outcome.response.ok) {
      const error = errorOf(outcome, inWords(call), facts);
      const rest = left();
      const span = pauseWhileWaiting(outcome, attempt, repeats, Math.random(), rest);
      if (span !== null && (rest === 0 || span > rest)) {
        const state = seen === null ? "was not seen" : `was ${(seen as T).status} when last seen`;
        const text = `${name} ${state}; no lookup succeeded within ${waitTimeout} ms; the last one: ${error.message}`;
        throw awaited.timedOut(text, seen, { cause: error });
      }
      if (span === null || transport.now() + span >= trouble) throw error;
      await transport.pause(span, options.signal);
      continue;
    }
    seen = typed<T>(outcome.response, outcome.body, awaited.names, inWords(call), facts);
    if (awaited.isOver(seen)) return seen;
    if (left() === 0) throw awaited.timedOut(`${name} is still ${seen.status} after ${waitTimeout} ms`, seen);
    if (transport.now() - began < seconds * 500) {
      // An early answer means that the service is about to stop. Without a pause, the next lookup would return early too.
      await transport.pause(Math.min(1000, left()), options.signal);
    }
    attempt = 0;
    trouble = transport.now() + WHILE_WAITING;
  }
}
