// Which outcomes of a call are worth a repeat, and when. Pure: time and chance come in as arguments. All spans in milliseconds.

/** Before the first repeat, doubled with each further one, up to the most. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8_000;
/** A service that asks for more patience than this gets none: the caller is told, and may have better to do. */
const LONGEST_RETRY_AFTER = 60_000;
/**
 * Nothing but failures for so long is the end of waiting for a job, if its own time is not over before: enough for a service that
 * finishes its pictures, stops and starts again. Not a number of repeats, for a port that refuses is quick.
 */
export const WHILE_WAITING = 600_000;
/** Beside all of 5xx: the body came too slowly, too early, too many. */
const REPEATABLE = [408, 425, 429];

/** What came of one attempt. */
export type Outcome =
  | { readonly kind: "answer"; readonly response: Response; readonly body: Uint8Array<ArrayBuffer> }
  | { readonly kind: "fault"; readonly cause: unknown; readonly isTimeout: boolean };

/** What is said by `Retry-After`, which is seconds or a date (RFC 9110, section 10.2.3). */
export function retryAfter(headers: Headers, now: number = Date.now()): number | null {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Dates of this header begin with the day of the week; Date.parse would take much else for one.
  if (!/^[A-Z][a-z]{2,8},? /.test(text)) return null;
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? null : Math.max(0, moment - now);
}

/** The pause before the next attempt; `null` for no further one. `attempt` counts from 1, `chance` is 0 to 1. */
export function pauseAfter(outcome: Outcome, attempt: number, repeats: number, chance: number): number | null {
  if (attempt > repeats) return null;
  if (outcome.kind === "answer") {
    const { status, headers } = outcome.response;
    if (status < 500 && !REPEATABLE.includes(status)) return null;
    const asked = retryAfter(headers);
    if (asked !== null) return asked <= LONGEST_RETRY_AFTER ? asked : null;
  }
  // Up to a quarter less, so that clients that failed together do not come back together.
  return Math.min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE) * (1 - chance / 4);
}

/** The same while waiting for a job, where time is the end and not a number, unless the caller wants no repeats at all. */
export function pauseWhileWaiting(outcome: Outcome, attempt: number, repeats: number, chance: number): number | null {
  return pauseAfter(outcome, attempt, repeats > 0 ? attempt : 0, chance);
}
