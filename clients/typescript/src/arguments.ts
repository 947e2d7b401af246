// Checks arguments, so that a mistake is an `ArgumentError` that names it, before anything is sent.

import { ArgumentError } from "./errors.js";

/** The id of a job or a batch: text, or the member `name` of an object that a call returned. */
export function idOf(ref: unknown, name: "job_id" | "batch_id"): string {
  const id = typeof ref === "object" && ref !== null ? (ref as { readonly [name: string]: unknown })[name] : ref;
  if (typeof id !== "string") throw new ArgumentError(`pass a ${name}, or an object that has one, not ${shown(ref)}`);
  if (id === "") throw new ArgumentError(`the ${name} is empty`);
  return id;
}

/** The caller's idempotency key, or a new one. */
export function keyOrNew(idempotencyKey: string | null | undefined): string {
  const key = idempotencyKey ?? crypto.randomUUID();
  if (typeof key !== "string") throw new ArgumentError(`idempotencyKey must be text, not ${shown(key)}`);
  // The service rejects an empty key, so that a caller whose order has no number learns of it.
  // Without spaces: HTTP libraries refuse them or strip them at the ends.
  if (!/^[!-~]*$/.test(key)) throw new ArgumentError(`idempotencyKey must have 1 to 255 visible ASCII characters, unlike ${shown(key)}`);
  return key;
}

/** The header that limits how long a job may stay queued. */
export function cancelAfterHeader(span: number | null | undefined): Readonly<Record<string, string>> {
  if (span === null || span === undefined) return {};
  if (typeof span !== "number" || !(span > 0 && span < Infinity)) {
    throw new ArgumentError(`cancelAfter must be a number of milliseconds above 0, not ${shown(span)}`);
  }
  return { "cancel-after": `${Math.ceil(span / 1000)}s` };
}

/** Checks a timeout in milliseconds. */
export function assertTimeout(span: unknown): void {
  if (typeof span === "number" && span > 0) return;
  throw new ArgumentError(`timeout must be a number of milliseconds above 0, or Infinity, not ${shown(span)}`);
}

/** Checks a number of repeats. */
export function assertMaxRetries(count: unknown): void {
  if (Number.isInteger(count) && (count as number) >= 0) return;
  throw new ArgumentError(`maxRetries must be 0 or more, not ${shown(count)}`);
}

/** Checks the time that a caller wants to wait. */
export function assertWaitTimeout(span: unknown): void {
  if (span === null || (typeof span === "number" && !Number.isNaN(span))) return;
  throw new ArgumentError(`waitTimeout must be a number of milliseconds, or null, not ${shown(span)}`);
}

/** An argument that is an object or left out. Without its value, because a key given in its place is a secret. */
export function optional<T extends object>(name: string, value: T | null | undefined): T {
  const given = value ?? ({} as T);
  if (typeof given !== "object") throw new ArgumentError(`${name} must be an object, not a ${typeof given}`);
  return given;
}

/** The requests of a batch. */
export function requestsOf<T extends object>(requests: Iterable<T>): T[] {
  const given: unknown = requests;
  if (typeof given !== "object" || given === null || !(Symbol.iterator in given)) {
    throw new ArgumentError(`requests must be an array of objects, not ${shown(given)}`);
  }
  const entries = [...requests];
  for (const [index, entry] of entries.entries()) {
    if (typeof entry !== "object" || entry === null) {
      throw new ArgumentError(`requests[${index}] must be an object, not ${shown(entry)}`);
    }
  }
  return entries;
}

/** A value in a message. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
