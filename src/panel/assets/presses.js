// Names for what is sent, so that sending it once more is safe when no answer has come.

/** 128 random bits. */
const random = () => [...crypto.getRandomValues(new Uint8Array(16))].map((it) => it.toString(16).padStart(2, "0")).join("");

/** Does this leave it open whether the service has done what was asked? */
const isOpen = (error) => !error.status || error.status >= 500 || error.status === 409;

/**
 * The presses of one button. The same form, pressed again after an answer that left it open, is sent under the same name, which
 * the service does but once; after any other answer it is a new wish.
 */
export function presses() {
  let last = null;
  return async (asked, send) => {
    if (last?.asked !== asked) last = { asked, headers: { "Idempotency-Key": random() } };
    try {
      const answer = await send(last.headers);
      last = null;
      return answer;
    } catch (error) {
      if (!isOpen(error)) last = null;
      else if (!error.status) error.message += " It may be done all the same: sent again as it stands, it is done once.";
      throw error;
    }
  };
}
