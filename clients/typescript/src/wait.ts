// Waits for a job, over as many lookups as it takes.

import * as calls from "./calls.js";
import { WaitTimeoutError } from "./errors.js";
import { errorOf, typed } from "./failures.js";
import { pauseWhileWaiting, WHILE_WAITING } from "./retry.js";
import { inWords } from "./transport.js";
import type { Transport } from "./transport.js";
import type { Job, JobRef, WaitOptions } from "./types.js";

/** What a job has, whatever else. */
export const JOB = ["job_id", "status", "created_at"] as const;
/** Seconds of one waiting lookup. The service would wait for 60, but that is also when common proxies give up. */
const LONGEST_LOOK = 30;
const DEFAULT_WAIT = 600_000;
/** What the last lookup may take beyond the time for waiting. */
const GRACE = 5_000;

/** The job once it is over. */
export async function waitFor(transport: Transport, job: JobRef, options: WaitOptions): Promise<Job> {
  const { waitTimeout = DEFAULT_WAIT, ...rest } = options;
  const jobId = calls.idOf(job);
  const repeats = options.maxRetries ?? transport.maxRetries;
  const end = waitTimeout === null ? Infinity : transport.now() + waitTimeout;
  const left = (): number => Math.max(0, end - transport.now());
  let trouble = transport.now() + WHILE_WAITING;
  let seen: Job | null = null;
  for (let attempt = 1; ; attempt += 1) {
    const seconds = Math.ceil(Math.min(LONGEST_LOOK, left() / 1000));
    const call = calls.wait(job, rest, seconds, left() + GRACE);
    const facts = { attempts: attempt, jobId };
    const began = transport.now();
    const outcome = await transport.attempt(call);
    if (outcome.kind === "fault" || !outcome.response.ok) {
      const error = errorOf(outcome, inWords(call), facts);
      const span = pauseWhileWaiting(outcome, attempt, repeats, Math.random());
      if (span !== null && span >= left()) {
        const state = seen === null ? "was not seen" : `was ${seen.status} when last seen`;
        const text = `job ${jobId} ${state}, and was not to be had within ${waitTimeout} ms; the last lookup: ${error.message}`;
        throw new WaitTimeoutError(text, jobId, seen, { cause: error });
      }
      if (span === null || transport.now() + span >= trouble) throw error;
      await transport.pause(span, rest.signal);
      continue;
    }
    seen = typed<Job>(outcome.response, outcome.body, JOB, inWords(call), facts);
    if (seen.status === "done" || seen.status === "failed") return seen;
    if (left() === 0) throw new WaitTimeoutError(`job ${jobId} is still ${seen.status} after ${waitTimeout} ms`, jobId, seen);
    if (transport.now() - began < seconds * 500) {
      // Answered before its time: the service is about to stop, and asking at once would be asking for nothing.
      await transport.pause(Math.min(1000, left()), rest.signal);
    }
    attempt = 0;
    trouble = transport.now() + WHILE_WAITING;
  }
}
