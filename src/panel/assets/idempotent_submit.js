// Submits with an Idempotency-Key, so that a retry after a lost answer is safe.

/** 128 random bits. */
const random = () => [...crypto.getRandomValues(new Uint8Array(16))].map((it) => it.toString(16).padStart(2, "0")).join("");

/** Whether the service may have executed the request despite this error. */
const isAmbiguous = (error) => !error.status || error.status >= 500 || error.status === 409;

/**
 * Submits of a button that sends several requests at once. Returns the answers and the first error. After an ambiguous error,
 * sending the same form again repeats only the unanswered requests, each with its own key. A later refusal, such as 401 or 429, says
 * nothing about the earlier attempt, so it does not end this.
 */
export function idempotentSubmits() {
  let last = null;
  return async (asked, count, send) => {
    if (last?.asked !== asked || last.calls.length !== count) {
      last = { asked, calls: Array.from({ length: count }, () => ({ answer: null, mayHaveArrived: false, headers: { "Idempotency-Key": random() } })) };
    }
    const current = last;
    const { calls } = current;
    const outcomes = await Promise.allSettled(calls.map(async (call) => {
      try {
        call.answer ??= await send(call.headers);
      } catch (error) {
        call.mayHaveArrived ||= isAmbiguous(error);
        throw error;
      }
    }));
    const errors = outcomes.filter((it) => it.status === "rejected").map((it) => it.reason);
    // Another form may have been sent meanwhile.
    if (last === current && !calls.some((it) => it.mayHaveArrived && !it.answer)) last = null;
    return { answers: calls.map((it) => it.answer).filter(Boolean), error: errors.find(isAmbiguous) ?? errors[0] ?? null };
  };
}

/** Submits of a button that sends one request. Returns its answer. */
export function idempotentSubmit() {
  const submit = idempotentSubmits();
  return async (asked, send) => {
    const { answers: [answer], error } = await submit(asked, 1, send);
    if (error) throw error;
    return answer;
  };
}
