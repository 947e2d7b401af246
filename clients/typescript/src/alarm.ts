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

/** The same response, and `over` once its body has been read, has failed, or is not wanted any more. */
export function untilRead(response: Response, over: () => void): Response {
  const reader = response.body?.getReader();
  if (reader === undefined) {
    over();
    return response;
  }
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller): Promise<void> {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        over();
      },
      async cancel(reason): Promise<void> {
        await reader.cancel(reason);
        over();
      },
    },
    // Nothing is read before somebody asks, as it was without this.
    { highWaterMark: 0 },
  );
  const { status, statusText, headers, url } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), "url", { value: url });
}

/** Was it the time that was over? */
export function isTimeout(cause: unknown): boolean {
  return cause instanceof DOMException && cause.name === "TimeoutError";
}
