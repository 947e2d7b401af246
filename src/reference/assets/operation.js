// One call: parameters and responses on the left, code and the console on the right.
import { examples, follow, json } from "./document.js";
import { h } from "./dom.js";
import { block, pretty } from "./json.js";
import { inline, prose } from "./prose.js";
import { field, fields, isObject } from "./schema.js";
import { console as tryIt } from "./console.js";

const PLACES = { path: "in the path", query: "in the query", header: "header" };

export const method = (name) => h("span", { class: `method ${name}` }, name === "delete" ? "DEL" : name.toUpperCase());

function request(document, call) {
  const parameters = (call.parameters ?? []).map((it) => follow(document, it));
  const body = json(call.requestBody?.content);
  return [
    parameters.length ? h("section", {}, h("h4", {}, call.sent ? "Headers" : "Parameters"), h("ul", { class: "fields" }, parameters.map((it) =>
      field(document, it.name, it.schema, { required: it.required, text: it.description, place: call.sent ? "" : PLACES[it.in] })))) : null,
    body ? h("section", {}, h("h4", {}, "Body", call.requestBody.required ? "" : h("span", { class: "kind" }, " optional")),
      fields(document, body.schema, { answers: call.sent })) : null,
  ];
}

/** The responses of one status. */
function answer(document, status, response) {
  const media = json(response.content);
  const kinds = Object.keys(response.content ?? {});
  const shown = examples(document, media ?? response.content?.["text/event-stream"]);
  const [first, ...rest] = (response.description ?? "").split("\n\n");
  const errors = kinds.includes("application/problem+json");
  const headers = Object.entries(response.headers ?? {}).map(([name, it]) => [name, follow(document, it)]);
  return h("details", { class: "answer" },
    h("summary", {}, h("span", { class: `status s${status[0]}` }, status), h("span", {}, inline(first), rest.length ? h("span", { class: "kind" }, ` and ${rest.length} more`) : null)),
    h("div", { class: "answer-body" },
      rest.map((it) => h("p", {}, inline(it))),
      kinds.length && !media ? h("p", {}, inline(kinds.map((it) => `\`${it}\``).join(", "))) : null,
      !errors && isObject(document, media?.schema) ? fields(document, media.schema, { answers: true }) : null,
      shown.map(([title, value]) => block(pretty(value), { title: title || "Example", plain: typeof value === "string" })),
      headers.length ? h("div", { class: "headers" }, h("h5", {}, "Headers"), h("ul", { class: "fields" }, headers.map(([name, it]) =>
        h("li", { class: "field" }, h("div", { class: "field-head" }, h("code", { class: "field-name" }, name), it.required ? null : h("span", { class: "kind" }, "sometimes")), h("p", {}, inline(it.description)))))) : null));
}

/** The example of the main successful response. */
function mainResponse(document, call) {
  // Prefer a creation to a lookup.
  const status = ["201", "202", "200"].find((it) => call.responses[it]);
  const content = follow(document, call.responses[status]).content;
  const [first] = examples(document, json(content) ?? content?.["text/event-stream"]);
  return first ? block(pretty(first[1]), { title: status, plain: typeof first[1] === "string" }) : null;
}

/** The article of a call. `auth` returns the entered key or token. */
export function article(document, call, auth) {
  const body = json(call.requestBody?.content);
  return h("article", { class: "call", id: call.operationId, "aria-labelledby": `${call.operationId}-title` },
    h("div", { class: "told" },
      h("h3", { id: `${call.operationId}-title` }, call.summary),
      h("p", { class: "route" }, method(call.method), h("code", {}, call.path.split("/").flatMap((it, at) => at ? ["/", h("wbr"), it] : [it]))),
      prose(call.description),
      request(document, call),
      call.sent ? null : h("section", {}, h("h4", {}, "Responses"), Object.entries(call.responses).map(([status, it]) => answer(document, status, follow(document, it))))),
    h("div", { class: "tried" }, call.sent
      ? examples(document, body).map(([title, value]) => block(pretty(value), { title }))
      : [tryIt(document, call, auth), mainResponse(document, call)]));
}
