// The console of a call: a form, the call as code, and the response.
import { bodyExamples, follow, json } from "./document.js";
import { ROOT, fill, h } from "./dom.js";
import { sendAndShow } from "./response.js";
import { block, pretty } from "./json.js";
import { languages, sample } from "./samples.js";

let chosen = languages[0];

/** Builds a request from the fields. Omits empty ones. */
function request(call, form, key) {
  const path = call.path.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = form.path[name];
    return value ? encodeURIComponent(value) : whole;
  });
  const query = Object.entries(form.query).filter(([, value]) => value).flatMap(([name, value]) =>
    form.deep.has(name) ? value.split("&").filter(Boolean).map((pair) => {
      const [member, ...rest] = pair.split("=");
      return `${name}%5B${encodeURIComponent(member)}%5D=${encodeURIComponent(rest.join("="))}`;
    }) : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`]);
  const headers = {};
  if (call.security?.length) headers.Authorization = `Bearer ${key}`;
  for (const [name, value] of Object.entries(form.header)) if (value) headers[name] = value;
  if (form.body) headers["Content-Type"] = "application/json";
  return {
    method: call.method.toUpperCase(),
    target: query.length ? `${path}?${query.join("&")}` : path,
    headers,
    body: form.body || undefined,
  };
}

function input(document, parameter, form, changed) {
  const it = follow(document, parameter);
  const options = it.schema?.enum ?? (it.schema?.type === "boolean" ? ["true", "false"] : null);
  const common = { name: it.name, oninput: (event) => { form[it.in][it.name] = event.target.value; changed(); } };
  const label = h("span", {}, it.name, it.required ? h("span", { class: "must" }, " required") : null);
  if (it.style === "deepObject") form.deep.add(it.name);
  const preset = it.schema?.default?.toString();
  const example = it.style === "deepObject" ? "order=4711" : it.schema?.examples?.[0] ?? preset ?? it.schema?.format ?? "";
  // Shows the default, which is sent only once it has been chosen.
  const control = options
    ? h("select", common, preset === undefined ? h("option", { value: "" }, "–") : null, options.map((word) => h("option", { value: word, selected: word === preset }, word)))
    : h("input", { ...common, type: "text", placeholder: example, autocomplete: "off", spellcheck: "false", autocapitalize: "off" });
  return h("label", { class: "entry" }, label, control);
}

/** A selector for the examples of a body. */
function bodies(list, area, changed) {
  if (list.length < 2) return null;
  return h("select", { "aria-label": "Example", onchange: (event) => { area.value = pretty(list[event.target.value][1]); changed(); } },
    list.map(([title], at) => h("option", { value: String(at) }, title)));
}

/** Says whether the key or token is entered that the call needs. */
function secretNote(auth) {
  const note = h("p", { class: "small" });
  const draw = () => fill(note, auth.secret() ? null : "Enter your ", h("a", { href: "#secret", onclick: (event) => { event.preventDefault(); auth.ask(); } }, auth.label),
    auth.secret() ? " is sent with the request." : " first: without it, the response is 401.");
  addEventListener("secret", draw, { signal: auth.leaving });
  draw();
  return note;
}

/** The code samples, and below them the form that sends the call. */
export function console(document, call, auth) {
  const form = { path: {}, query: {}, header: {}, deep: new Set(), body: "" };
  const body = json(call.requestBody?.content);
  const ready = bodyExamples(document, body);
  const shown = h("div", { class: "sample" });
  const named = auth.name === "operator" ? "$TINTYPE_ADMIN_TOKEN" : "$TINTYPE_KEY";
  const draw = () => {
    const it = request(call, form, named);
    fill(shown, block(sample(chosen, { ...it, url: `${location.origin}${ROOT}${it.target}` }), { plain: true, title: "" }));
    shown.querySelector("figcaption span").replaceWith(tabs());
  };
  const tabs = () => h("span", { class: "tabs", role: "group", "aria-label": "Language" }, languages.map((language) =>
    h("button", { type: "button", "aria-pressed": String(language === chosen), onclick: () => {
      chosen = language;
      dispatchEvent(new CustomEvent("language"));
    } }, language)));
  // The signal removes the listener with the page; otherwise it would keep and redraw hidden content.
  addEventListener("language", draw, { signal: auth.leaving });

  const area = body ? h("textarea", { name: "body", rows: "9", spellcheck: "false", "aria-label": "Body", oninput: () => { form.body = area.value; draw(); } }) : null;
  const updateBody = () => { form.body = area.value; draw(); };
  if (area) {
    // An optional body starts empty.
    area.value = call.requestBody.required ? pretty(ready[0]?.[1] ?? {}) : "";
    form.body = area.value;
  }
  const result = h("div", { class: "received", "aria-live": "polite" });
  const button = h("button", { type: "submit", class: "send" }, "Send");
  const send = async (event) => {
    event.preventDefault();
    const it = request(call, form, auth.secret());
    if (it.target.includes("{")) {
      const missing = /\{(\w+)\}/.exec(it.target)[1];
      event.currentTarget.elements[missing]?.focus();
      fill(result, h("p", { class: "said" }, `${missing} is required.`));
      return;
    }
    button.disabled = true;
    try { await sendAndShow(result, it, auth); } finally { button.disabled = false; }
  };
  const parameters = call.parameters ?? [];
  draw();
  return [shown, h("details", { class: "try" },
    h("summary", {}, "Try it"),
    h("form", { onsubmit: send, novalidate: true },
      call.security?.length ? secretNote(auth) : null,
      parameters.length ? h("div", { class: "entries" }, parameters.map((it) => input(document, it, form, draw))) : null,
      area ? h("div", { class: "entry" }, h("span", { class: "row" }, h("span", {}, "Body"), bodies(ready, area, updateBody)), area) : null,
      h("div", { class: "row" }, button, h("span", { class: "small muted" }, "Sends a live request; charges apply.")),
      result))];
}
