// Verifies webhook deliveries: `X-Signature`, or the `webhook-signature` of Standard Webhooks; one of the two suffices. Needs Web
// Crypto and nothing else, so it works where there is no Node.

import { WebhookVerificationError } from "./errors.js";
import { objectOf } from "./failures.js";
import type { BatchCounts, Result } from "./types.js";

export { WebhookVerificationError };

/** Seconds that a delivery may be away from the clock, in either direction. */
const TOLERANCE = 300;
const PREFIX = "whsec_";

/** The headers of a request: those of `fetch`, or those of Node with names in whatever case. */
export type WebhookHeaders = Pick<Headers, "get"> | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A delivery as it came, and what to judge it by. */
export interface Delivery {
  /** What came, unparsed. */
  readonly body: string | Uint8Array | ArrayBuffer;
  readonly headers: WebhookHeaders;
  /** The webhook's, `whsec_` included; several while it is being replaced. */
  readonly secret: string | readonly string[];
  /** In seconds; 300 if not said. */
  readonly tolerance?: number | undefined;
  /** In Unix seconds; the clock's if not said. */
  readonly now?: number | undefined;
}

/**
 * A job or a batch is over. A delivery may come more than once: use the id as the key of what you do with it. Of a job `batch_id` and
 * `counts` are `null`; of a batch `job_id`, `result` and `error` are, and `status` is `"ended"`.
 */
export interface WebhookEvent {
  readonly job_id: string | null;
  readonly batch_id: string | null;
  readonly status: "done" | "failed" | "ended";
  readonly counts: BatchCounts | null;
  readonly result: Result | null;
  readonly error: string | null;
  readonly metadata: { readonly [name: string]: unknown } | null;
  /**
   * The same over all attempts of one delivery; `null` where only `X-Signature` verified, which does not cover it: whoever repeats a
   * delivery could put anything there.
   */
  readonly deliveryId: string | null;
  readonly sentAt: Date;
  /** It was sent by hand, to try the webhook out. */
  readonly isTest: boolean;
}

interface Given {
  readonly raw: Uint8Array<ArrayBuffer>;
  readonly header: (name: string) => string;
  readonly secrets: readonly string[];
  readonly now: number;
  readonly tolerance: number;
}

/**
 * The event of a delivery that is genuine and fresh; rejects with `WebhookVerificationError` for any other. Where a framework hands
 * out the parsed body only, pass `JSON.stringify(payload)`: it is written again as it was signed, which succeeds for webhooks of
 * encoding `utf8`.
 */
export async function verifyWebhook(delivery: Delivery): Promise<WebhookEvent> {
  const { body, headers, secret, tolerance = TOLERANCE, now = Date.now() / 1000 } = delivery;
  const texts = (typeof secret === "string" ? [secret] : secret).map((it) => it.trim());
  // Anybody can sign with an empty key, and a variable that is not set makes one.
  const secrets = texts.filter((it) => it.replace(PREFIX, "") !== "");
  if (secrets.length === 0) throw new WebhookVerificationError("no secret was given");
  const raw = typeof body === "string" ? bytesOf(body) : new Uint8Array(body instanceof Uint8Array ? body : new Uint8Array(body));
  const given = { raw, header: reader(headers), secrets, tolerance, now };
  const standard = await standardSignature(given);
  if (typeof standard === "number") return eventOf(given, given.header("webhook-id"), standard);
  const own = await xSignature(given);
  if (typeof own === "number") return eventOf(given, null, own);
  throw new WebhookVerificationError(`${own}; ${standard}`);
}

/** When it was sent, or why it is refused. The key is the secret's whole text. */
async function xSignature(given: Given): Promise<number | string> {
  const moment = momentOf("X-Timestamp", given);
  if (typeof moment === "string") return moment;
  const text = given.header("x-signature");
  if (text === "") return "X-Signature is missing";
  const code = /^sha256=([0-9a-f]{64})$/.exec(text)?.[1];
  if (code !== undefined) {
    const signature = Uint8Array.from(code.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    // The bytes as they came are what was signed. Something on the way may have written them again, so that is tried as well.
    for (const candidate of [given.raw, ...rewritten(given.raw)]) {
      for (const secret of given.secrets) {
        if (await isSignedBy(bytesOf(secret), signature, joined(`${moment}.`, candidate))) return moment;
      }
    }
  }
  return "X-Signature does not match: another secret, or a changed body";
}

/** When it was sent, or why it is refused. The key is what the text after `whsec_` decodes to. */
async function standardSignature(given: Given): Promise<number | string> {
  const moment = momentOf("webhook-timestamp", given);
  if (typeof moment === "string") return moment;
  const [id, list] = [given.header("webhook-id"), given.header("webhook-signature")];
  if (id === "" || list.trim() === "") return "webhook-id or webhook-signature is missing";
  const signed = joined(`${id}.${moment}.`, given.raw);
  for (const entry of list.trim().split(/\s+/)) {
    const signature = entry.startsWith("v1,") ? decoded(entry.slice("v1,".length)) : null;
    for (const secret of given.secrets) {
      const key = decoded(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
      if (signature !== null && key !== null && (await isSignedBy(key, signature, signed))) return moment;
    }
  }
  return "webhook-signature does not match: another secret, or a changed body";
}

function momentOf(name: string, { header, now, tolerance }: Given): number | string {
  const text = header(name.toLowerCase());
  if (text === "") return `${name} is missing`;
  // Digits as they are written, for they are signed: no blank, sign or leading zero.
  if (!/^[1-9]\d{0,14}$/.test(text)) return `${name} is no time in seconds`;
  const age = now - Number(text);
  if (Math.abs(age) <= tolerance) return Number(text);
  return `${name} is ${Math.abs(age).toFixed(0)} s ${age > 0 ? "ago" : "ahead"}; more than ${tolerance} s is refused`;
}

/** Compares in constant time, as Web Crypto does. */
async function isSignedBy(key: Uint8Array<ArrayBuffer>, signature: Uint8Array<ArrayBuffer>, text: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["verify"]);
  return crypto.subtle.verify("HMAC", imported, signature, text);
}

/** The body written again as it may have been signed: for webhooks of encoding `utf8`, and for most of `ascii`. */
function rewritten(raw: Uint8Array): Uint8Array<ArrayBuffer>[] {
  try {
    const text = sorted(JSON.parse(new TextDecoder().decode(raw)));
    const escaped = text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    return [bytesOf(text), bytesOf(escaped)];
  } catch {
    return [];
  }
}

/** Not `JSON.stringify` of a copy with sorted names: that puts names like array indexes first, and loses `__proto__`. */
function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(members).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${sorted(members[name])}`).join(",")}}`;
}

function eventOf({ raw }: Given, deliveryId: string | null, sent: number): WebhookEvent {
  const value = objectOf(raw);
  const isBatch = value !== null && "batch_id" in value;
  const names = isBatch ? ["batch_id", "status", "counts", "metadata"] : ["job_id", "status", "result", "error", "metadata"];
  if (value === null || !names.every((name) => name in value)) {
    throw new WebhookVerificationError("the signature verifies, but the body is no delivery");
  }
  const given = value as unknown as Partial<WebhookEvent> & Pick<WebhookEvent, "status" | "metadata">;
  const { job_id = null, batch_id = null, status, counts = null, result = null, error = null, metadata } = given;
  const isTest = status === "done" && result === null && metadata?.["test"] === true && Object.keys(metadata).length === 1;
  const sentAt = new Date(sent * 1000);
  return { job_id, batch_id, status, counts, result, error, metadata, deliveryId, sentAt, isTest };
}

function reader(headers: WebhookHeaders): (name: string) => string {
  // Not by its class: there are others than the global one, of other packages and of other realms.
  if (isHeaders(headers)) return (name) => headers.get(name) ?? "";
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => {
    const value = lower.get(name);
    return typeof value === "string" ? value : (value?.[0] ?? "");
  };
}

function isHeaders(headers: WebhookHeaders): headers is Pick<Headers, "get"> {
  return typeof headers.get === "function";
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function joined(lead: string, rest: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = bytesOf(lead);
  const whole = new Uint8Array(head.length + rest.length);
  whole.set(head);
  whole.set(rest, head.length);
  return whole;
}

/** Bytes from base64; `null` for what is none. */
function decoded(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0));
    return bytes.length === 0 ? null : bytes;
  } catch {
    return null;
  }
}
