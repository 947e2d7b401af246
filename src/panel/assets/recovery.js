// Retries while the service is unreachable.

const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 15_000;

/** Whether a retry may succeed: no answer came, or a server error. */
export const isAway = (error) => !error.status || error.status >= 500;

let wait = FIRST_WAIT;

/** Calls `reload` after a delay that doubles each time, unless `signal` aborts. */
export function retryLater(reload, signal) {
  const timer = setTimeout(reload, wait);
  wait = Math.min(wait * 2, LONGEST_WAIT);
  signal?.addEventListener("abort", () => clearTimeout(timer));
}

/** Resets the delay after an answer of the service. */
export function recovered() {
  wait = FIRST_WAIT;
}
