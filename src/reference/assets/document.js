// Loads the OpenAPI document once, resolves references, and groups the calls.
import { ROOT } from "./dom.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

export const INTERFACES = {
  clients: { title: "Clients", place: `${ROOT}/api/v1/openapi.json`, secret: "API key", hint: "tt_…" },
  operator: { title: "Operator", place: `${ROOT}/admin/v1/openapi.json`, secret: "Operator token", hint: "the file admin-token" },
};

/** Resolves a reference. Returns other values unchanged. */
export function follow(document, value) {
  let found = value;
  for (let steps = 0; found?.$ref && steps < 8; steps += 1) {
    const path = found.$ref.slice(2).split("/");
    found = path.reduce((at, name) => at?.[name.replaceAll("~1", "/").replaceAll("~0", "~")], document);
  }
  return found ?? {};
}

/** Fetches an interface's document. Throws an error with the service's `detail`. */
export async function load(name, secret) {
  const headers = secret ? { Authorization: `Bearer ${secret}` } : {};
  const response = await fetch(INTERFACES[name].place, { headers });
  const read = await response.json();
  if (!response.ok) throw Object.assign(new Error(read.detail ?? response.statusText), { status: response.status });
  return read;
}

/** Groups the calls of a document by tag, with webhook events in a separate group. */
export function groups(document) {
  const all = document.tags.map((tag) => ({ name: tag.name, text: tag.description, calls: [] }));
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS.filter((it) => item[it])) {
      const call = { method, path, ...item[method] };
      all.find((it) => it.name === call.tags[0])?.calls.push(call);
    }
  }
  const events = Object.values(document.webhooks ?? {}).map((item) => ({ method: "post", path: "your webhook", sent: true, ...item.post }));
  if (events.length) all.push({ name: "Webhooks", text: "What the service sends to registered URLs.", calls: events });
  return all.filter((it) => it.calls.length);
}

const size = ([, value]) => JSON.stringify(value).length;

/** The examples of a request body, the shortest first: JSON objects are unordered, and the form begins with the simplest call. */
export const bodyExamples = (document, media) => examples(document, media).sort((one, other) => size(one) - size(other));

/** The examples of a media type, as [summary, value]. */
export function examples(document, media) {
  const list = media?.examples ? Object.values(media.examples).map((it) => [it.summary, it.value])
    : media && "example" in media ? [["", media.example]] : [];
  return list.map(([title, value]) => [title, sortMembers(document, media.schema, value)]);
}

/** The field names of an object in documented order, because JSON objects are unordered. */
export function order(document, schema) {
  const it = follow(document, schema);
  const whole = it.anyOf ? follow(document, it.anyOf[0]) : it.allOf ? { ...follow(document, it.allOf[0]), ...it, properties: follow(document, it.allOf[0]).properties, required: follow(document, it.allOf[0]).required } : it;
  const first = whole["x-order"] ?? whole.required ?? [];
  return [whole, [...new Set([...first, ...Object.keys(whole.properties ?? {})])]];
}

/** Sorts the members of a value in that order, at every depth. */
export function sortMembers(document, schema, value) {
  if (!schema || value === null || typeof value !== "object") return value;
  const [it, names] = order(document, schema);
  if (Array.isArray(value)) return value.map((entry) => sortMembers(document, it.items, entry));
  const known = names.filter((name) => name in value);
  const rest = Object.keys(value).filter((name) => !names.includes(name));
  return Object.fromEntries([...known, ...rest].map((name) => [name, sortMembers(document, it.properties?.[name], value[name])]));
}

/** The JSON body of a request or response, if any. */
export function json(content) {
  return content?.["application/json"] ?? content?.["application/problem+json"];
}
