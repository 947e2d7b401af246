// Tries again by itself while the service is away.

const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 15_000;

/** Whether the service may be back at the next try: no answer, or one of a proxy without a service behind it. */
export const isAway = (error) => !error.status || error.status >= 500;

let wait = FIRST_WAIT;

/** Calls `again` after a while, each time after a longer one, unless `signal` ends it. */
export function retryLater(again, signal) {
  const timer = setTimeout(again, wait);
  wait = Math.min(wait * 2, LONGEST_WAIT);
  signal?.addEventListener("abort", () => clearTimeout(timer));
}

/** The service has answered: the next wait is a short one again. */
export function recovered() {
  wait = FIRST_WAIT;
}
