// Calls of the panel API.
import { ROOT, sentence } from "./dom.js";

/** The URL path of a call of the panel API. */
export const callPath = (path) => `${ROOT}/panel/api${path}`;

/** Paths where 401 does not mean that the session has ended. */
const SIGN_IN_PATHS = ["/session", "/session/operator", "/invitation", "/invitation/accept"];

/** The error text for an answer without one: from a proxy, or none at all. */
function defaultDetail(status) {
  if (status === 413) return "A proxy in front of the service rejected the size of this request (HTTP 413).";
  if ([502, 503, 504].includes(status)) return `The service is not reachable right now (HTTP ${status}). Try again.`;
  return `The service returned HTTP ${status} without details. Try again.`;
}

/** JavaScript numbers keep this many digits. */
const DIGITS = 15;

/** Parses JSON. A number with more digits, as in metadata, keeps its text if the browser supports that. */
export const parse = (text) => JSON.parse(text, JSON.rawJSON && ((_, value, at) =>
  (typeof value === "number" && at.source.replace(/\D/g, "").length > DIGITS && String(value) !== at.source ? JSON.rawJSON(at.source) : value)));

/** An error answer with its fields. */
export class ApiError extends Error {
  constructor(status, body) {
    super(body?.detail ? sentence(body.detail) : defaultDetail(status));
    this.status = status;
    this.errors = body?.errors ?? [];
  }
}

/** The error text if no answer came: the service may still have made the change. */
function noAnswerDetail(method, headers) {
  if (method === "GET") return "The service did not respond. Check the connection and try again.";
  if (headers?.["Idempotency-Key"]) return "The service did not respond. The request may have arrived. Submit the same form again: it takes effect only once.";
  return "The service did not respond. The change may have been made. Check before you repeat it.";
}

/** Sends a request; returns the answer, whatever its status, and its text. */
async function exchange(method, path, options) {
  const headers = { "X-Tintype-Panel": "1", Accept: "application/json" };
  try {
    const answer = await fetch(callPath(path), {
      method, credentials: "same-origin", cache: "no-store", redirect: "error", ...options,
      headers: { ...headers, ...options?.headers },
    });
    return { answer, text: await answer.text() };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { detail: noAnswerDetail(method, options?.headers) });
  }
}

function apiError(answer, path, body) {
  if (answer.status === 401 && !SIGN_IN_PATHS.includes(path)) dispatchEvent(new CustomEvent("signed-out", { detail: "expired" }));
  // The visitor's rights may have changed since the page was drawn.
  if (answer.status === 403) dispatchEvent(new CustomEvent("forbidden"));
  return new ApiError(answer.status, body);
}

async function send(method, path, options) {
  const { answer, text } = await exchange(method, path, options);
  let body = null;
  let isJson = true;
  try { body = text ? parse(text) : null; } catch { isJson = false; }
  // Some proxies send an HTML page with status 200.
  if (answer.ok && isJson) return body;
  throw apiError(answer, path, body);
}

/** The lines of an answer, each a JSON text. */
export async function lines(path, signal) {
  const { answer, text } = await exchange("GET", path, { signal });
  if (answer.ok) return text.split("\n").filter(Boolean);
  let body = null;
  try { body = parse(text); } catch { /* from a proxy */ }
  throw apiError(answer, path, body);
}

export const get = (path, signal) => send("GET", path, { signal });
export const remove = (path) => send("DELETE", path);
export const call = (method, path, body, headers) => send(method, path, body === undefined ? {} : {
  body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers },
});
export const post = (path, body, headers) => call("POST", path, body, headers);
/** Sends a form; the browser sets its content type. */
export const upload = (path, form, headers) => send("POST", path, { body: form, headers });

/** Sends a file as the body. */
export const sendFile = (path, { blob, type }, headers) => send("POST", path, { body: blob, headers: { "Content-Type": type, ...headers } });

/** A query string of the non-empty values. */
export function query(values) {
  const set = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return set.length ? `?${new URLSearchParams(set)}` : "";
}
