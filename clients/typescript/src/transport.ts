// Sends calls, again where that is safe and worth it. Needs `fetch` and nothing else.

import { Alarm, isTimeout } from "./alarm.js";
import { ArgumentError, TintypeError } from "./errors.js";
import { errorOf, typed } from "./failures.js";
import { pauseAfter } from "./retry.js";
import type { Outcome } from "./retry.js";
import type { CallOptions } from "./types.js";

export const PREFIX = "/api/v1";
const DEFAULT_URL = "http://127.0.0.1:8080";
const DEFAULT_TIMEOUT = 60_000;
const DEFAULT_MAX_RETRIES = 2;
const USER_AGENT = "tintype-js/0.1.0";

/** What a client is told when it is made. Spans are in milliseconds. */
export interface ClientOptions {
  /** The environment variable `TINTYPE_KEY` where there is one and nothing is said. */
  readonly apiKey?: string | undefined;
  /** The address of the service; `TINTYPE_URL`, else `http://127.0.0.1:8080`. */
  readonly baseUrl?: string | undefined;
  /** For one attempt as a whole. 60 s. */
  readonly timeout?: number | undefined;
  /** How often a call that fails for a passing reason is sent again. 2. */
  readonly maxRetries?: number | undefined;
  /** In place of the global one. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** One request. Each may be sent again: those that make something carry an idempotency key. */
export interface Call extends CallOptions {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the address of the service; or a whole URL, to which no API key is sent. */
  readonly path: string;
  readonly query?: readonly (readonly [string, string])[];
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
  /** What the service may take on purpose, beyond the time-out. */
  readonly patience?: number;
  /** When an answer is of no more use, however long the time-out. */
  readonly limit?: number;
}

/** A call as it is given to `fetch`. */
export interface Sendable {
  readonly url: string;
  readonly init: RequestInit;
}

/** Answer and body, and how often it was asked for. */
export interface Answered {
  readonly response: Response;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly attempts: number;
}

/** The way to one service. */
export class Transport {
  readonly address: string;
  readonly maxRetries: number;
  readonly #apiKey: string;
  readonly #timeout: number;
  readonly #fetch: typeof globalThis.fetch;
  /** Waits so many milliseconds. Tests put something quicker here. */
  pause: (span: number, signal?: AbortSignal) => Promise<void> = pause;
  /** A clock that never goes back, in milliseconds. */
  now: () => number = () => performance.now();

  constructor(options: ClientOptions) {
    this.#apiKey = (options.apiKey ?? variable("TINTYPE_KEY") ?? "").trim();
    if (this.#apiKey === "") throw new TintypeError("no API key: give apiKey, or set the environment variable TINTYPE_KEY");
    const url = (options.baseUrl ?? variable("TINTYPE_URL") ?? DEFAULT_URL).trim();
    if (!/^https?:\/\//.test(url)) throw new TintypeError(`baseUrl must begin with http:// or https://, unlike ${url}`);
    if (!URL.canParse(url)) throw new TintypeError(`baseUrl ${url} is no address`);
    if (!/^[ -~]+$/.test(this.#apiKey)) {
      // Without the key: this goes into logs.
      throw new TintypeError("the API key holds characters that no key has; has something been pasted along with it?");
    }
    // With the version or without it.
    this.address = url.replace(/\/+$/, "").replace(/\/api\/v1$/, "").replace(/\/+$/, "");
    this.#timeout = options.timeout ?? DEFAULT_TIMEOUT;
    this.maxRetries = options.maxRetries ?? DEFAULT_MAX_RETRIES;
    // Called as a method of anything else, the global one throws in browsers.
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** Sends a call until it succeeds, is refused for good, or has been sent often enough. */
  async exchange(call: Call): Promise<Answered> {
    const repeats = call.maxRetries ?? this.maxRetries;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.attempt(call);
      if (outcome.kind === "answer" && outcome.response.ok) return { ...outcome, attempts: attempt };
      const span = pauseAfter(outcome, attempt, repeats, Math.random());
      if (span === null) throw errorOf(outcome, inWords(call), { ...call, attempts: attempt });
      await this.pause(span, call.signal);
    }
  }

  /** The typed answer of a call, which must have these members. */
  async fetch<T extends object>(call: Call, names: readonly (keyof T & string)[]): Promise<T> {
    const { response, body, attempts } = await this.exchange(call);
    return typed<T>(response, body, names, inWords(call), { ...call, attempts });
  }

  /** What `open` sends. Throws for what cannot be sent, which no repeat would mend and which is no fault of the network. */
  request(call: Call): Sendable {
    const { method, body } = call;
    try {
      const init: RequestInit = { method, headers: this.#headers(call), redirect: "manual" };
      if (body !== undefined) init.body = JSON.stringify(body, finite);
      return { url: new URL(this.#url(call)).href, init };
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new ArgumentError(`${inWords(call)} cannot be sent: ${reason}`, { cause });
    }
  }

  /** Sends it once, and answers as soon as the head of the answer is there. The alarm is the caller's to end. */
  open({ url, init }: Sendable, alarm: Alarm): Promise<Response> {
    return this.#fetch(url, { ...init, signal: alarm.signal });
  }

  /** An alarm for a call: its time-out, and its caller's signal. */
  alarm(call: Call): Alarm {
    const span = (call.timeout ?? this.#timeout) + (call.patience ?? 0);
    return new Alarm(Math.min(span, call.limit ?? Infinity), call.signal);
  }

  /** Sends a call once. */
  async attempt(call: Call): Promise<Outcome> {
    call.signal?.throwIfAborted();
    const request = this.request(call);
    const alarm = this.alarm(call);
    try {
      const response = await this.open(request, alarm);
      return { kind: "answer", response, body: new Uint8Array(await response.arrayBuffer()) };
    } catch (cause) {
      call.signal?.throwIfAborted();
      return { kind: "fault", cause, isTimeout: isTimeout(cause) };
    } finally {
      alarm.end();
    }
  }

  #url({ path, query = [] }: Call): string {
    const url = isForeign(path) ? path : this.address + path;
    return query.length === 0 ? url : `${url}?${new URLSearchParams(query.map(([name, value]) => [name, value]))}`;
  }

  #headers(call: Call): Headers {
    const headers = new Headers({ accept: "application/json", ...call.headers });
    if (!isForeign(call.path)) headers.set("authorization", `Bearer ${this.#apiKey}`);
    if (call.body !== undefined) headers.set("content-type", "application/json");
    if (call.idempotencyKey !== undefined) headers.set("idempotency-key", call.idempotencyKey);
    // A browser has its own name to tell.
    if (!("document" in globalThis)) headers.set("user-agent", USER_AGENT);
    return headers;
  }
}

/** What JSON has no word for is refused here: written, it would be `null`. */
function finite(name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${name} is ${value}, which JSON has no word for`);
  return value;
}

/** A call in words. The query of a signed URL is as good as the picture, and does not belong into a log. */
export function inWords({ method, path }: Call): string {
  return `${method} ${path.split("?")[0]}`;
}

function isForeign(path: string): boolean {
  return !path.startsWith("/");
}

function variable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name];
}

async function pause(span: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((wake, fail) => {
    const timer = setTimeout(done, span);
    function done(): void {
      signal?.removeEventListener("abort", broken);
      wake();
    }
    function broken(): void {
      clearTimeout(timer);
      fail(signal?.reason);
    }
    signal?.addEventListener("abort", broken, { once: true });
  });
}
