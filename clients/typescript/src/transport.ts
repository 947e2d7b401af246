// Sends calls, and repeats them if that is safe and useful. It needs only `fetch`.

import { Alarm, isTimeout } from "./alarm.js";
import { assertMaxRetries, assertTimeout, optional } from "./arguments.js";
import { ArgumentError } from "./errors.js";
import { errorOf, typed } from "./failures.js";
import { pauseAfter } from "./retry.js";
import type { Outcome } from "./retry.js";
import type { CallOptions } from "./types.js";

export const PREFIX = "/api/v1";
const DEFAULT_URL = "http://127.0.0.1:8080";
const DEFAULT_TIMEOUT = 60_000;
const DEFAULT_MAX_RETRIES = 2;
const USER_AGENT = "tintype-js/0.1.0";

/** The options of a client. Times are in milliseconds. */
export interface ClientOptions {
  /** The API key; by default the environment variable `TINTYPE_KEY`. */
  readonly apiKey?: string | undefined;
  /** The address of the service; by default the environment variable `TINTYPE_URL`, else `http://127.0.0.1:8080`. */
  readonly baseUrl?: string | undefined;
  /** Limits the time until the answer begins, and each pause between its bytes. 60 s by default; `Infinity` for no limit. */
  readonly timeout?: number | undefined;
  /** How often the client repeats a call that failed temporarily. 2 by default. */
  readonly maxRetries?: number | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** One request. The client may repeat it, because each call that creates something carries an idempotency key. */
export interface Call extends CallOptions {
  readonly method: "GET" | "POST" | "DELETE";
  /** A path of the service; or a whole URL, to which the client sends no API key. */
  readonly path: string;
  readonly query?: readonly (readonly [string, string])[];
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
  /** The existing job or batch that the call is about, for errors. */
  readonly jobId?: string;
  readonly batchId?: string;
  /** How long the service may take on purpose, in addition to the timeout. */
  readonly patience?: number;
  /** When the caller no longer needs the answer, for any timeout. */
  readonly limit?: number;
}

/** The arguments of `fetch`. */
export interface Sendable {
  readonly url: string;
  readonly init: RequestInit;
}

/** An answer with its body, and the number of attempts. */
export interface Answered {
  readonly response: Response;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly attempts: number;
}

/** The connection to one service. */
export class Transport {
  readonly address: string;
  readonly maxRetries: number;
  readonly #apiKey: string;
  readonly #timeout: number;
  readonly #fetch: typeof globalThis.fetch;
  /** Waits so many milliseconds. Tests replace it. */
  pause: (span: number, signal?: AbortSignal) => Promise<void> = pause;
  /** A clock that never goes back, in milliseconds. */
  now: () => number = () => performance.now();

  constructor(options: ClientOptions) {
    const { apiKey, baseUrl, timeout, maxRetries, fetch } = optional("options", options);
    this.#apiKey = apiKeyOf(apiKey ?? variable("TINTYPE_KEY") ?? "");
    this.address = addressOf(baseUrl ?? variable("TINTYPE_URL") ?? "");
    this.#timeout = timeout ?? DEFAULT_TIMEOUT;
    this.maxRetries = maxRetries ?? DEFAULT_MAX_RETRIES;
    assertTimeout(this.#timeout);
    assertMaxRetries(this.maxRetries);
    // Called as a method of anything else, the global one throws in browsers.
    this.#fetch = fetch ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** The same transport with other options. */
  withOptions(options: Pick<ClientOptions, "timeout" | "maxRetries">): Transport {
    const { timeout = this.#timeout, maxRetries = this.maxRetries } = optional("options", options);
    const other = new Transport({ apiKey: this.#apiKey, baseUrl: this.address, fetch: this.#fetch, timeout, maxRetries });
    other.pause = this.pause;
    other.now = this.now;
    return other;
  }

  /** Sends a call until it succeeds, fails for good, or all attempts are used. No attempt begins after `end`, a moment of `now`. */
  async exchange(call: Call, end = Infinity): Promise<Answered> {
    const repeats = call.maxRetries ?? this.maxRetries;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.attempt(call);
      if (outcome.kind === "answer" && outcome.response.ok) return { ...outcome, attempts: attempt };
      const span = pauseAfter(outcome, attempt, repeats, Math.random());
      if (span === null || this.now() + span > end) {
        throw errorOf(outcome, inWords(call), { ...call, attempts: attempt }, isForeign(call.path));
      }
      await this.pause(span, call.signal);
    }
  }

  /** The typed answer of a call, which must have these members. */
  async fetch<T extends object>(call: Call, names: readonly (keyof T & string)[]): Promise<T> {
    const { response, body, attempts } = await this.exchange(call);
    return typed<T>(response, body, names, inWords(call), { ...call, attempts });
  }

  /** The arguments of `fetch` for a call. Throws an `ArgumentError` for a call that cannot be sent. */
  request(call: Call): Sendable {
    const { method, body } = call;
    if ((call.timeout ?? null) !== null) assertTimeout(call.timeout);
    if ((call.maxRetries ?? null) !== null) assertMaxRetries(call.maxRetries);
    try {
      const init: RequestInit = { method, headers: this.#headers(call), redirect: "manual" };
      if (body !== undefined) init.body = body;
      return { url: new URL(this.#url(call)).href, init };
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new ArgumentError(`${inWords(call)} cannot be sent: ${reason}`, { cause });
    }
  }

  /** Sends a request once, and resolves when the answer begins. The caller ends the alarm. */
  open({ url, init }: Sendable, alarm: Alarm): Promise<Response> {
    return this.#fetch(url, { ...init, signal: alarm.signal });
  }

  /** The longest pause between the bytes of an answer. */
  timeout(call: Call): number {
    return call.timeout ?? this.#timeout;
  }

  /** An alarm for a call, with its timeout and the signal of its caller. */
  alarm(call: Call): Alarm {
    const span = this.timeout(call) + (call.patience ?? 0);
    return new Alarm(Math.min(span, call.limit ?? Infinity), call.signal);
  }

  /** Sends a call once. */
  async attempt(call: Call): Promise<Outcome> {
    call.signal?.throwIfAborted();
    const request = this.request(call);
    const alarm = this.alarm(call);
    const end = this.now() + (call.limit ?? Infinity);
    try {
      const response = await this.open(request, alarm);
      const body = await bodyOf(response, () => alarm.set(Math.min(this.timeout(call), Math.max(0, end - this.now()))));
      return { kind: "answer", response, body };
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
    // A browser sends its own.
    if (!("document" in globalThis)) headers.set("user-agent", USER_AGENT);
    return headers;
  }
}

/** The body of an answer. Calls `renew` before each read. */
async function bodyOf(response: Response, renew: () => void): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  const reader = response.body?.getReader();
  for (;;) {
    renew();
    const chunk = await reader?.read();
    if (chunk === undefined || chunk.done) break;
    chunks.push(chunk.value);
  }
  const body = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.length;
  }
  return body;
}

function apiKeyOf(text: unknown): string {
  if (typeof text !== "string") throw new ArgumentError(`apiKey must be a string, not of type ${typeof text}`);
  const key = text.trim();
  if (key === "") throw new ArgumentError("no API key: pass apiKey, or set the environment variable TINTYPE_KEY");
  // Without the key, because messages go into logs.
  if (!/^[ -~]+$/.test(key)) {
    throw new ArgumentError("the API key contains characters that no key has; was something else pasted with it?");
  }
  return key;
}

function addressOf(baseUrl: unknown): string {
  if (typeof baseUrl !== "string") throw new ArgumentError(`baseUrl must be a string, not of type ${typeof baseUrl}`);
  const text = baseUrl.trim() || DEFAULT_URL;
  if (!/^https?:\/\//.test(text)) throw new ArgumentError(`baseUrl must begin with http:// or https://, unlike ${text}`);
  if (!URL.canParse(text)) throw new ArgumentError(`baseUrl ${text} is not a valid URL`);
  const url = new URL(text);
  // Without the URL, because it contains a password.
  if (url.username !== "" || url.password !== "") throw new ArgumentError("baseUrl must not contain a user or a password");
  if (url.search !== "" || url.hash !== "") {
    throw new ArgumentError(`baseUrl must be the address of the service, such as https://pictures.example, unlike ${text}`);
  }
  // With or without the version.
  return text.replace(/\/+$/, "").replace(/\/api\/v1$/, "").replace(/\/+$/, "");
}

/** A call in messages. Without the query: that of a signed URL gives access to the image, and messages go into logs. */
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
