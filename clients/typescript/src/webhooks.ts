// Verifies webhook deliveries by `X-Signature` or by the `webhook-signature` of Standard Webhooks. One valid signature suffices. It needs
// only Web Crypto, so it works without Node.

import { shown } from "./arguments.js";
import { ArgumentError, WebhookVerificationError } from "./errors.js";
import { objectOf } from "./failures.js";
import type { BatchCounts, Result } from "./types.js";

export { WebhookVerificationError };

/** Maximum difference between the time of a delivery and the clock, in seconds. */
const TOLERANCE = 300;
const PREFIX = "whsec_";

/** The headers of a request, as `Headers` or as an object. The case of names does not matter. */
export type WebhookHeaders = Pick<Headers, "get"> | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A delivery, and the secret to verify it with. */
export interface Delivery {
  /** The raw body, unparsed. */
  readonly body: string | Uint8Array | ArrayBuffer;
  readonly headers: WebhookHeaders;
  /** The secret of the webhook, including `whsec_`; pass several while you replace it. */
  readonly secret: string | readonly string[];
  /** In seconds, by default 300. */
  readonly tolerance?: number | undefined;
  /** In Unix seconds, by default the clock. */
  readonly now?: number | undefined;
}

/**
 * A job or a batch ended. A delivery may arrive more than once, so use the id as the key of your processing. For a job, `batch_id` and
 * `counts` are `null`. For a batch, `job_id`, `result` and `error` are `null`, and `status` is `"ended"`.
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
   * The same for all attempts of a delivery; `null` if only `X-Signature` verified, which does not cover it.
   */
  readonly deliveryId: string | null;
  readonly sentAt: Date;
  /** Whether it is a test delivery. */
  readonly isTest: boolean;
}

/** An event for the operator of the service. It may arrive more than once, so use `eventId` as the key of your processing. */
export interface OperatorEvent {
  /** Such as `"backend.down"`. Ignore unknown types, because new ones may be added. */
  readonly type: string;
  /** The members that the documentation lists for this type. */
  readonly data: { readonly [name: string]: unknown };
  readonly version: number;
  readonly created_at: string;
  /** The same for all attempts of an event; `null` if only `X-Signature` verified, which does not cover it. */
  readonly eventId: string | null;
  readonly sentAt: Date;
}

type Members = { readonly [name: string]: unknown };

/** The event of a body, with its id if a signature covers it, and its time; `null` if the body is of another kind. */
type Reader<T> = (value: Members, id: string | null, sentAt: Date) => T | null;

interface Given {
  readonly raw: Uint8Array<ArrayBuffer>;
  readonly header: (name: string) => string;
  readonly secrets: readonly string[];
  readonly now: number;
  readonly tolerance: number;
}

/**
 * The event of an authentic and recent delivery. Rejects with `WebhookVerificationError` for every other. If your framework has only the
 * parsed body, pass `JSON.stringify(payload)`: the function serializes it as the service did, which works for webhooks with the encoding
 * `utf8`.
 */
export async function verifyWebhook(delivery: Delivery): Promise<WebhookEvent> {
  return verified(delivery, webhookEvent);
}

/**
 * As `verifyWebhook`, for the events that the service sends to `[operator] webhook_url`. The secret is `[operator] webhook_secret`, and
 * the encoding is `ascii`.
 */
export async function verifyOperatorEvent(delivery: Delivery): Promise<OperatorEvent> {
  return verified(delivery, operatorEvent);
}

async function verified<T>(delivery: Delivery, read: Reader<T>): Promise<T> {
  if (typeof delivery !== "object" || delivery === null) {
    throw new ArgumentError(`pass an object { body, headers, secret }, not ${shown(delivery)}`);
  }
  const { body, headers, secret, tolerance = TOLERANCE, now = Date.now() / 1000 } = delivery;
  if (typeof headers !== "object" || headers === null) throw new ArgumentError(`headers must be an object, not ${shown(headers)}`);
  const texts = [secret ?? []].flat().map((it: unknown) => (typeof it === "string" ? it.trim() : ""));
  // An attacker can sign with an empty key, and an unset environment variable is one.
  const secrets = texts.filter((it) => it.replace(PREFIX, "") !== "");
  if (secrets.length === 0) throw new WebhookVerificationError("no secret was given");
  const given = { raw: rawOf(body), header: reader(headers), secrets, tolerance, now };
  const standard = await standardSignature(given);
  if (typeof standard === "number") return eventOf(given, given.header("webhook-id"), standard, read);
  const own = await xSignature(given);
  if (typeof own === "number") return eventOf(given, null, own, read);
  throw new WebhookVerificationError(`${own}; ${standard}`);
}

/** The bytes of a body. Not by `instanceof`, because of other realms. */
function rawOf(body: Delivery["body"]): Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return bytesOf(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body);
  if (Object.prototype.toString.call(body) === "[object ArrayBuffer]") return new Uint8Array(new Uint8Array(body));
  throw new ArgumentError(
    `body must be the raw body as bytes or text, not ${shown(body)}: request.body with express.raw(), or await request.arrayBuffer()`,
  );
}

/** The time of the delivery, or why it does not verify. The key is the whole text of the secret. */
async function xSignature(given: Given): Promise<number | string> {
  const moment = momentOf("X-Timestamp", given);
  if (typeof moment === "string") return moment;
  const text = given.header("x-signature");
  if (text === "") return "X-Signature is missing";
  const code = /^sha256=([0-9a-f]{64})$/.exec(text)?.[1];
  if (code !== undefined) {
    const signature = Uint8Array.from(code.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    // The service signed the raw bytes. A proxy or a framework may have serialized them again, so try these forms too.
    for (const candidate of [given.raw, ...rewritten(given.raw)]) {
      for (const secret of given.secrets) {
        if (await isSignedBy(bytesOf(secret), signature, joined(`${moment}.`, candidate))) return moment;
      }
    }
  }
  return "X-Signature does not match: the secret is wrong, or the body was changed";
}

/** The time of the delivery, or why it does not verify. The key is the decoded text after `whsec_`. */
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
  return "webhook-signature does not match: the secret is wrong, or the body was changed";
}

function momentOf(name: string, { header, now, tolerance }: Given): number | string {
  const text = header(name.toLowerCase());
  if (text === "") return `${name} is missing`;
  // Exactly as signed: no blank, sign or leading zero.
  if (!/^[1-9]\d{0,14}$/.test(text)) return `${name} is not a time in seconds`;
  const age = now - Number(text);
  if (Math.abs(age) <= tolerance) return Number(text);
  return `${name} is ${Math.abs(age).toFixed(0)} s ${age > 0 ? "ago" : "ahead"}; the limit is ${tolerance} s`;
}

/** Compares in constant time, as Web Crypto does. */
async function isSignedBy(key: Uint8Array<ArrayBuffer>, signature: Uint8Array<ArrayBuffer>, text: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["verify"]);
  return crypto.subtle.verify("HMAC", imported, signature, text);
}

/** The body as the service serializes it, for webhooks with the encoding `utf8`, and for most with `ascii`. */
function rewritten(raw: Uint8Array): Uint8Array<ArrayBuffer>[] {
  try {
    const text = sorted(JSON.parse(new TextDecoder().decode(raw)));
    const escaped = text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    return [bytesOf(text), bytesOf(escaped)];
  } catch {
    return [];
  }
}

/** Not `JSON.stringify` of a copy with sorted names, which puts names like array indexes first, and loses `__proto__`. */
function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(members).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${sorted(members[name])}`).join(",")}}`;
}

function eventOf<T>({ raw }: Given, id: string | null, sent: number, read: Reader<T>): T {
  const value = objectOf(raw);
  const event = value === null ? null : read(value, id, new Date(sent * 1000));
  if (event === null) throw new WebhookVerificationError("the signature verifies, but the body is not a delivery");
  return event;
}

function webhookEvent(value: Members, deliveryId: string | null, sentAt: Date): WebhookEvent | null {
  if ("type" in value && "version" in value) {
    throw new WebhookVerificationError("the signature verifies, but the body is an operator event; use verifyOperatorEvent");
  }
  const isBatch = "batch_id" in value;
  const names = isBatch ? ["batch_id", "status", "counts", "metadata"] : ["job_id", "status", "result", "error", "metadata"];
  if (!names.every((name) => name in value)) return null;
  const given = value as unknown as Partial<WebhookEvent> & Pick<WebhookEvent, "status" | "metadata">;
  const { job_id = null, batch_id = null, status, counts = null, result = null, error = null, metadata } = given;
  const isTest = status === "done" && result === null && metadata?.["test"] === true && Object.keys(metadata).length === 1;
  return { job_id, batch_id, status, counts, result, error, metadata, deliveryId, sentAt, isTest };
}

function operatorEvent(value: Members, eventId: string | null, sentAt: Date): OperatorEvent | null {
  if (!["type", "data", "version", "created_at"].every((name) => name in value)) return null;
  const { type, data, version, created_at } = value as unknown as OperatorEvent;
  return { type, data, version, created_at, eventId, sentAt };
}

function reader(headers: WebhookHeaders): (name: string) => string {
  // Not by its class, because packages and other realms have their own.
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

/** Bytes from base64; `null` for other text. */
function decoded(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0));
    return bytes.length === 0 ? null : bytes;
  } catch {
    return null;
  }
}
