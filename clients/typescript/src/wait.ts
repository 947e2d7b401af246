// Waits for a job or a batch, over as many lookups as it takes.

import * as calls from "./calls.js";
import { WaitTimeoutError } from "./errors.js";
import { errorOf, typed } from "./failures.js";
import { pauseWhileWaiting, WHILE_WAITING } from "./retry.js";
import { inWords } from "./transport.js";
import type { Call, Transport } from "./transport.js";
import type { CallOptions, Job, JobRef, WaitOptions } from "./types.js";

/** What a job has, whatever else. */
export const JOB = ["job_id", "status", "created_at"] as const;
/** Seconds of one waiting lookup. The service would wait for 60, but that is also when common proxies give up. */
const LONGEST_LOOK = 30;
const DEFAULT_WAIT = 600_000;
/** What the last lookup may take beyond the time for waiting. */
const GRACE = 5_000;

/** What is waited for: how it is looked up, and how errors name it. */
export interface Awaited<T> {
  readonly name: string;
  /** What it has, whatever else. */
  readonly names: readonly (keyof T & string)[];
  /** What errors of its calls say of it. */
  readonly facts: { readonly jobId?: string };
  readonly call: (seconds: number, limit: number) => Call;
  readonly isOver: (seen: T) => boolean;
  readonly late: (text: string, seen: T | null, options?: ErrorOptions) => Error;
}

/** The job once it is over. */
export function waitFor(transport: Transport, job: JobRef, options: WaitOptions): Promise<Job> {
  const { waitTimeout = DEFAULT_WAIT, ...rest } = options;
  const jobId = calls.idOf(job);
  return waitUntilOver<Job>(transport, waitTimeout, rest, {
    name: `job ${jobId}`,
    names: JOB,
    facts: { jobId },
    call: (seconds, limit) => calls.wait(job, rest, seconds, limit),
    isOver: ({ status }) => status === "done" || status === "failed",
    late: (text, seen, cause) => new WaitTimeoutError(text, jobId, seen, cause),
  });
}

/** Something once it is over; `waitTimeout` is in milliseconds. */
export async function waitUntilOver<T extends { readonly status: string }>(
  transport: Transport,
  waitTimeout: number | null,
  options: CallOptions,
  awaited: Awaited<T>,
): Promise<T> {
  const { name } = awaited;
  const repeats = options.maxRetries ?? transport.maxRetries;
  const end = waitTimeout === null ? Infinity : transport.now() + waitTimeout;
  const left = (): number => Math.max(0, end - transport.now());
  let trouble = transport.now() + WHILE_WAITING;
  let seen: T | null = null;
  for (let attempt = 1; ; attempt += 1) {
    const seconds = Math.ceil(Math.min(LONGEST_LOOK, left() / 1000));
    const call = awaited.call(seconds, left() + GRACE);
    const facts = { attempts: attempt, ...awaited.facts };
    const began = transport.now();
    const outcome = await transport.attempt(call);
    if (outcome.kind === "fault" || !outcome.response.ok) {
      const error = errorOf(outcome, inWords(call), facts);
      const span = pauseWhileWaiting(outcome, attempt, repeats, Math.random());
      if (span !== null && span >= left()) {
        const state = seen === null ? "was not seen" : `was ${(seen as T).status} when last seen`;
        const text = `${name} ${state}, and was not to be had within ${waitTimeout} ms; the last lookup: ${error.message}`;
        throw awaited.late(text, seen, { cause: error });
      }
      if (span === null || transport.now() + span >= trouble) throw error;
      await transport.pause(span, options.signal);
      continue;
    }
    seen = typed<T>(outcome.response, outcome.body, awaited.names, inWords(call), facts);
    if (awaited.isOver(seen)) return seen;
    if (left() === 0) throw awaited.late(`${name} is still ${seen.status} after ${waitTimeout} ms`, seen);
    if (transport.now() - began < seconds * 500) {
      // Answered before its time: the service is about to stop, and asking at once would be asking for nothing.
      await transport.pause(Math.min(1000, left()), options.signal);
    }
    attempt = 0;
    trouble = transport.now() + WHILE_WAITING;
  }
}
