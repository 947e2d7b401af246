// Submits with an Idempotency-Key, so that a retry after a lost answer is safe.

/** 128 random bits. */
const random = () => [...crypto.getRandomValues(new Uint8Array(16))].map((it) => it.toString(16).padStart(2, "0")).join("");

/** Whether the service may have executed the request despite this error. */
const isAmbiguous = (error) => !error.status || error.status >= 500 || error.status === 409;

/**
 * Submits of a button that sends several requests at once. Returns the answers and the first error. After an ambiguous error,
 * sending the same form again repeats only the unanswered requests, each with its own key.
 */
export function idempotentSubmits() {
  let last = null;
  return async (asked, count, send) => {
    if (last?.asked !== asked || last.calls.length !== count) {
      last = { asked, calls: Array.from({ length: count }, () => ({ answer: null, headers: { "Idempotency-Key": random() } })) };
    }
    const { calls } = last;
    const outcomes = await Promise.allSettled(calls.map(async (call) => { call.answer ??= await send(call.headers); }));
    const errors = outcomes.filter((it) => it.status === "rejected").map((it) => it.reason);
    if (!errors.some(isAmbiguous)) last = null;
    return { answers: calls.map((it) => it.answer).filter(Boolean), error: errors.find(isAmbiguous) ?? errors[0] ?? null };
  };
}

/** Submits of one button. After an ambiguous error, the same form is sent with the same key; after any other answer, with a new key. */
export function idempotentSubmit() {
  let last = null;
  return async (asked, send) => {
    if (last?.asked !== asked) last = { asked, headers: { "Idempotency-Key": random() } };
    try {
      const answer = await send(last.headers);
      last = null;
      return answer;
    } catch (error) {
      if (!isAmbiguous(error)) last = null;
      throw error;
    }
  };
}
