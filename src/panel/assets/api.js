// Calls of the panel's own interface.

/** What the service refused, with its reasons. */
export class ApiError extends Error {
  constructor(status, body, wait) {
    super(body?.detail ?? "The service did not answer. Check the connection and try again.");
    this.status = status;
    this.code = body?.code ?? "unreachable";
    this.errors = body?.errors ?? [];
    this.wait = wait;
  }
}

async function send(method, path, options) {
  const headers = { "X-Tintype-Panel": "1", Accept: "application/json" };
  let answer;
  try {
    answer = await fetch(`/panel/api${path}`, {
      method, credentials: "same-origin", cache: "no-store", redirect: "error", ...options,
      headers: { ...headers, ...options?.headers },
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, null);
  }
  const text = await answer.text();
  let body = null;
  try { body = text ? JSON.parse(text) : null; } catch { /* told as an error below */ }
  if (answer.ok) return body;
  const error = new ApiError(answer.status, body, Number(answer.headers.get("Retry-After")) || 0);
  if (answer.status === 401 && !path.startsWith("/session")) dispatchEvent(new CustomEvent("signed-out"));
  throw error;
}

export const get = (path, signal) => send("GET", path, { signal });
export const remove = (path) => send("DELETE", path);
export const call = (method, path, body) => send(method, path, body === undefined ? {} : {
  body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
});
export const post = (path, body) => call("POST", path, body);
/** Sends a form; the browser sets its type. */
export const upload = (path, form) => send("POST", path, { body: form });

/** A query from what is set. */
export function query(values) {
  const set = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return set.length ? `?${new URLSearchParams(set)}` : "";
}
