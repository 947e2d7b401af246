// The error for a failed call.

import { ApiConnectionError, ApiError, ApiTimeoutError, UnexpectedAnswerError } from "./errors.js";
import type { CallError, CallFacts, FieldFault, Problem } from "./errors.js";
import { retryAfter } from "./retry.js";
import type { Outcome } from "./retry.js";

type Members = { readonly [name: string]: unknown };

/** The error for a failed outcome. `what` names the call; `isForeign` if it went to the URL of an image, which may lead to a bucket. */
export function errorOf(outcome: Outcome, what: string, facts: CallFacts, isForeign = false): CallError {
  if (outcome.kind === "answer") return new ApiError(problemOf(outcome.response, outcome.body, isForeign), facts);
  const kind = outcome.isTimeout ? ApiTimeoutError : ApiConnectionError;
  const lead = outcome.isTimeout ? "no response in time" : "no response";
  return new kind(`${what}: ${lead}: ${reasonOf(outcome.cause)}`, facts, { cause: outcome.cause });
}

/** `fetch` puts the reason of a failure into the cause of its error. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { message } = cause.cause instanceof Error && cause.cause.message !== "" ? cause.cause : cause;
  // OpenSSL ends its messages with a line feed.
  return message.trim();
}

/** Checks that a successful answer may be an image. A proxy may answer with a page to log in. */
export function assertImage({ status, headers }: Response, length: number | null, what: string, facts: CallFacts): void {
  const kind = headers.get("content-type") ?? "no content type";
  const isText = /^(text\/html|[^;]*json)\s*(;|$)/i.test(kind);
  if (status === 200 && !isText && length !== 0) return;
  const text = `the image store returned ${status} with ${kind}, which is empty or not an image`;
  throw new UnexpectedAnswerError(`${what}: ${text}`, facts);
}

/** The typed form of a successful answer, which must have these members. */
export function typed<T extends object>(
  response: Response,
  body: Uint8Array,
  names: readonly (keyof T & string)[],
  what: string,
  facts: CallFacts,
): T {
  const value = objectOf(body);
  if (value !== null && names.every((name) => name in value)) return value as T;
  const kind = response.headers.get("content-type") ?? "no content type";
  throw new UnexpectedAnswerError(`${what}: ${response.status} with ${kind}, which the service does not send`, facts);
}

/** A JSON object; `null` for everything else. */
export function objectOf(text: Uint8Array | string): Members | null {
  try {
    const value: unknown = JSON.parse(typeof text === "string" ? text : new TextDecoder().decode(text));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : null;
  } catch {
    return null;
  }
}

function problemOf(response: Response, body: Uint8Array, isForeign: boolean): Problem {
  const isProblem = response.headers.get("content-type")?.startsWith("application/problem+json") ?? false;
  const told = isProblem ? objectOf(body) : null;
  const text = (name: string): string | null => {
    const value = told?.[name];
    return typeof value === "string" ? value : null;
  };
  const unknown = isForeign ? detailOfImageStore : detailOfProxy;
  return {
    status: response.status,
    code: text("code"),
    title: text("title") ?? "",
    detail: told === null ? unknown(response) : (text("detail") ?? ""),
    requestId: text("request_id") || response.headers.get("x-request-id") || null,
    errors: Array.isArray(told?.["errors"]) ? told["errors"].flatMap(faultOf) : [],
    retryAfter: retryAfter(response.headers),
  };
}

function faultOf(value: unknown): FieldFault[] {
  if (typeof value !== "object" || value === null) return [];
  const { field, message } = value as Members;
  return [{ field: String(field ?? ""), message: String(message ?? "") }];
}

function detailOfImageStore({ status }: Response): string {
  const why = status === 403 || status === 404 ? ": the image was deleted or its URL has expired" : "";
  return `the image store returned ${status}${why}`;
}

function detailOfProxy(response: Response): string {
  const where = response.headers.get("location");
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400 && where !== null)) {
    return `redirected${where === null ? "" : ` to ${where}`}; set baseUrl to the address of the service itself`;
  }
  const kind = response.headers.get("content-type") ?? "no content type";
  return `the answer is not in the format of the service (${kind}): baseUrl is wrong, or a proxy in front of it answered`;
}
