// Renders a schema as a list of fields.
import { follow, order } from "./document.js";
import { h } from "./dom.js";
import { inline } from "./prose.js";

const FORMS = { uuid: "uuid", "date-time": "date-time", uri: "URL", "uri-reference": "path" };

/** The schema without `null` as an alternative, and whether it was nullable. */
function bare(document, schema) {
  const found = follow(document, schema);
  const ways = (found.anyOf ?? []).map((it) => follow(document, it));
  const other = ways.find((it) => it.type !== "null");
  if (other) return [{ ...other, description: found.description ?? other.description }, ways.length > 1];
  if (found.allOf?.length === 1) {
    const [inner, nullable] = bare(document, found.allOf[0]);
    return [{ ...inner, ...found, properties: inner.properties ?? found.properties }, nullable];
  }
  if (Array.isArray(found.type)) {
    const kinds = found.type.filter((it) => it !== "null");
    return [{ ...found, type: kinds.length === 1 ? kinds[0] : kinds }, found.type.includes("null")];
  }
  return [found, false];
}

function kind(document, schema) {
  const [it, nullable] = bare(document, schema);
  const named = it.type === "array" ? `array of ${kind(document, it.items ?? {})}`
    : FORMS[it.format] ?? (Array.isArray(it.type) ? it.type.join(" or ") : it.type) ?? (it.enum ? "string" : "anything");
  return nullable && it.type !== "null" ? `${named} or null` : named;
}

/** The bounds of a value as text. */
function bounds(it) {
  const said = [];
  const span = (min, max, unit) => {
    if (min !== undefined && max !== undefined) said.push(`${number(min)} to ${number(max)}${unit}`);
    else if (max !== undefined) said.push(`at most ${number(max)}${unit}`);
    else if (min !== undefined && min > 0) said.push(`at least ${number(min)}${unit}`);
  };
  span(it.minLength, it.maxLength, it.maxLength === undefined && it.minLength === 1 ? " character" : " characters");
  span(it.minItems, it.maxItems, it.maxItems === undefined && it.minItems === 1 ? " entry" : " entries");
  span(it.minimum, it.maximum, "");
  if (it.default !== undefined) said.push(`default ${JSON.stringify(it.default)}`);
  return said.join(", ");
}

const number = (value) => value.toLocaleString("en-US");

/** The allowed values. */
function choices(document, it) {
  const list = it.enum ?? (it.items ? bare(document, it.items)[0].enum : null);
  const words = (list ?? []).filter((word) => word !== null);
  return words.length > 1 ? h("div", { class: "words" }, words.map((word) => h("code", {}, String(word)))) : null;
}

/** One field: name, type, whether it is required, and description. */
export function field(document, name, schema, { required, text, place } = {}) {
  const [it] = bare(document, schema);
  const inner = it.type === "array" ? bare(document, it.items ?? {})[0] : it;
  const said = text ?? it.description;
  const limits = bounds(it);
  return h("li", { class: "field" },
    h("div", { class: "field-head" },
      h("code", { class: "field-name" }, name),
      h("span", { class: "kind" }, kind(document, schema)),
      place ? h("span", { class: "kind" }, place) : null,
      required ? h("span", { class: "must" }, "required") : null),
    said || limits ? h("p", {}, inline([said, limits ? `${limits[0].toUpperCase()}${limits.slice(1)}.` : ""].filter(Boolean).join(" "))) : null,
    choices(document, it),
    inner.properties ? h("details", { class: "inner" },
      h("summary", {}, `${Object.keys(inner.properties).length} fields`),
      fields(document, inner)) : null);
}

/** The fields of an object. `answers`: a response, which always has all fields, so "required" is omitted. */
export function fields(document, schema, { answers } = {}) {
  const [it] = bare(document, schema);
  const needed = new Set(it.required ?? []);
  const [, names] = order(document, it);
  return h("ul", { class: "fields" }, names.map((name) =>
    field(document, name, it.properties[name], { required: !answers && needed.has(name) })));
}

/** Does the schema have fields? */
export const isObject = (document, schema) => Boolean(schema && bare(document, schema)[0].properties);
