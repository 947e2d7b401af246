// Calls of the panel's own interface.

/** Where being unknown is no news: the paths that somebody enters by. */
const DOORS = ["/session", "/session/operator", "/invitation", "/invitation/accept"];

/** What to say of an answer that says nothing itself: it is a proxy's, or there was none. */
function silent(status) {
  if (!status) return "The service did not answer. Check the connection and try again.";
  if (status === 413) return "That is more than a proxy in front of the service lets through (HTTP 413).";
  if ([502, 503, 504].includes(status)) return `The service cannot be reached at the moment (HTTP ${status}). Try again.`;
  return `The answer was HTTP ${status}, without a reason. Try again.`;
}

/** More digits than this are lost in a number. */
const DIGITS = 15;

/** Reads JSON. A number of too many digits, as metadata may have, stays as it is written, where the browser can do that. */
export const parse = (text) => JSON.parse(text, JSON.rawJSON && ((_, value, at) =>
  (typeof value === "number" && at.source.replace(/\D/g, "").length > DIGITS && String(value) !== at.source ? JSON.rawJSON(at.source) : value)));

/** What the service refused, with its reasons. */
export class ApiError extends Error {
  constructor(status, body) {
    super(body?.detail ?? silent(status));
    this.status = status;
    this.errors = body?.errors ?? [];
  }
}

async function send(method, path, options) {
  const headers = { "X-Tintype-Panel": "1", Accept: "application/json" };
  let answer, text;
  try {
    answer = await fetch(`/panel/api${path}`, {
      method, credentials: "same-origin", cache: "no-store", redirect: "error", ...options,
      headers: { ...headers, ...options?.headers },
    });
    text = await answer.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, null);
  }
  let body = null;
  let read = true;
  try { body = text ? parse(text) : null; } catch { read = false; }
  // A page in place of an answer, as some proxies send it under the status 200, is none.
  if (answer.ok && read) return body;
  if (answer.status === 401 && !DOORS.includes(path)) dispatchEvent(new CustomEvent("signed-out"));
  throw new ApiError(answer.status, body);
}

export const get = (path, signal) => send("GET", path, { signal });
export const remove = (path) => send("DELETE", path);
export const call = (method, path, body, headers) => send(method, path, body === undefined ? {} : {
  body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers },
});
export const post = (path, body, headers) => call("POST", path, body, headers);
/** Sends a form; the browser sets its type. */
export const upload = (path, form, headers) => send("POST", path, { body: form, headers });

/** A query from what is set. */
export function query(values) {
  const set = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return set.length ? `?${new URLSearchParams(set)}` : "";
}
