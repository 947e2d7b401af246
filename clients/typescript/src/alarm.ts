// Aborts a request at its timeout, or when its caller aborts it.

/** The longest time of `setTimeout`. It would treat a longer one as 1 ms. */
const LONGEST = 2 ** 31 - 1;

/**
 * One signal for both. Not `AbortSignal.any` with `AbortSignal.timeout`: some versions of Node collect these before they fire, and
 * some browsers do not have them.
 */
export class Alarm {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #forward = (): void => this.#controller.abort(this.#caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Fires after so many milliseconds. */
  constructor(span: number, caller: AbortSignal | undefined) {
    this.#caller = caller;
    if (caller?.aborted === true) this.#forward();
    caller?.addEventListener("abort", this.#forward, { once: true });
    this.set(span);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Restarts the timeout. */
  set(span: number): void {
    this.calm();
    const late = (): void => this.#controller.abort(new DOMException(`nothing arrived within ${span} ms`, "TimeoutError"));
    if (span <= LONGEST) this.#timer = setTimeout(late, span);
  }

  /** Removes the timeout; the caller can still abort. */
  calm(): void {
    clearTimeout(this.#timer);
  }

  /** Aborts the request, if it is still running. */
  end(): void {
    this.calm();
    this.#caller?.removeEventListener("abort", this.#forward);
    this.#controller.abort();
  }
}

/**
 * The same response. Ends the alarm when its body has been read, has failed, or was canceled. `span` limits each read, but not how long
 * the reader takes between two.
 */
export function untilRead(response: Response, alarm: Alarm, span: number): Response {
  alarm.calm();
  const reader = response.body?.getReader();
  if (reader === undefined) {
    alarm.end();
    return response;
  }
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller): Promise<void> {
        try {
          alarm.set(span);
          const { done, value } = await reader.read();
          alarm.calm();
          if (!done) return controller.enqueue(value);
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        alarm.end();
      },
      async cancel(reason): Promise<void> {
        await reader.cancel(reason);
        alarm.end();
      },
    },
    // Read nothing before the consumer asks, like the original body.
    { highWaterMark: 0 },
  );
  const { status, statusText, headers, url } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), "url", { value: url });
}

/** Whether the cause of a failure is a timeout. */
export function isTimeout(cause: unknown): boolean {
  return cause instanceof DOMException && cause.name === "TimeoutError";
}
