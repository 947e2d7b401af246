// Which failed calls a client repeats, and when. Pure functions: the caller passes the time and the random number. In milliseconds.

/** The pause before the first repeat. Each further pause is twice as long, up to the longest. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8_000;
/** If the service asks for a longer pause, a single call fails, and the caller decides. */
const LONGEST_RETRY_AFTER = 60_000;
/**
 * Continuous failures after which waiting for a job fails: enough for a service that finishes its images, stops and starts again. Time
 * and not a number of repeats, because a closed port refuses connections at once.
 */
export const WHILE_WAITING = 600_000;
/** In addition to 5xx: Request Timeout, Too Early, Too Many Requests. */
const REPEATABLE = [408, 425, 429];

/** The outcome of one attempt. */
export type Outcome =
  | { readonly kind: "answer"; readonly response: Response; readonly body: Uint8Array<ArrayBuffer> }
  | { readonly kind: "fault"; readonly cause: unknown; readonly isTimeout: boolean };

/** The milliseconds of `Retry-After`, which is seconds or a date (RFC 9110, section 10.2.3). */
export function retryAfter(headers: Headers, now: number = Date.now()): number | null {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Dates of this header begin with the day of the week. Date.parse accepts much else.
  if (!/^[A-Z][a-z]{2,8},? /.test(text)) return null;
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? null : Math.max(0, moment - now);
}

/** The pause before the next attempt; `null` for no further attempt. `attempt` counts from 1, `chance` is 0 to 1. */
export function pauseAfter(
  outcome: Outcome,
  attempt: number,
  repeats: number,
  chance: number,
  longest: number = LONGEST_RETRY_AFTER,
  left: number = Infinity,
): number | null {
  if (attempt > repeats) return null;
  let asked = 0;
  if (outcome.kind === "answer") {
    const { status, headers } = outcome.response;
    if (status < 500 && !REPEATABLE.includes(status)) return null;
    asked = retryAfter(headers) ?? 0;
    if (asked > longest) return null;
  }
  // Up to a quarter less, so that clients that failed together do not retry together.
  const own = Math.min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE) * (1 - chance / 4);
  // Not only what the service asks for: without a pause for 0 or a past date, a client would send one request after another.
  return Math.max(asked, Math.min(own, left));
}

/**
 * The same while waiting for a job. Time limits it, not the number of repeats, unless the caller wants no repeats. Also not the longest
 * `Retry-After`: the caller of this function compares the pause with the time that is left. Only a `Retry-After` makes the pause longer
 * than `left`, so that the last attempt is at the end of the time.
 */
export function pauseWhileWaiting(
  outcome: Outcome,
  attempt: number,
  repeats: number,
  chance: number,
  left: number = Infinity,
): number | null {
  return pauseAfter(outcome, attempt, repeats > 0 ? attempt : 0, chance, Infinity, left);
}
