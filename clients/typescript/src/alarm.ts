// Ends a request when its time is over, or when its caller goes away.

/** What `setTimeout` can wait for; more would be no time at all. */
const LONGEST = 2 ** 31 - 1;

/**
 * One signal for both. Not `AbortSignal.any` with `AbortSignal.timeout`: some versions of Node let these be collected before they
 * have fired, and some browsers do not have them.
 */
export class Alarm {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #forward = (): void => this.#controller.abort(this.#caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Goes off after so many milliseconds. */
  constructor(span: number, caller: AbortSignal | undefined) {
    this.#caller = caller;
    if (caller?.aborted === true) this.#forward();
    caller?.addEventListener("abort", this.#forward, { once: true });
    this.set(span);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts anew. */
  set(span: number): void {
    this.calm();
    const late = (): void => this.#controller.abort(new DOMException(`nothing within ${span} ms`, "TimeoutError"));
    if (span <= LONGEST) this.#timer = setTimeout(late, span);
  }

  /** Leaves it to the caller to go away. */
  calm(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the request, if it is still under way. */
  end(): void {
    this.calm();
    this.#caller?.removeEventListener("abort", this.#forward);
    this.#controller.abort();
  }
}

/** Was it the time that was over? */
export function isTimeout(cause: unknown): boolean {
  return cause instanceof DOMException && cause.name === "TimeoutError";
}
