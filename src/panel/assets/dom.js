// Builds pages from data. Text is always inserted as text nodes; no markup is parsed.
import { restoreFocus, restoreScroll, saveFocus, saveScroll } from "./focus.js";

/** The path of this server: empty, or the prefix under which a proxy serves it. Assets are two folders below. */
export const ROOT = new URL("../..", import.meta.url).pathname.slice(0, -1);

/** Creates an element. Properties that begin with "on" are listeners; `null` and `false` are skipped. */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) set(element, name, value);
  element.append(...flat(children));
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "class") element.className = value;
  else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
  else if (name === "href") element.setAttribute("href", safeHref(value));
  else element.setAttribute(name, value === true ? "" : value);
}

/** Allows links to this page, this host, the web and blobs. Anything else, such as javascript:, becomes "#". */
function safeHref(address) {
  return /^(#|\/(?!\/)|https?:|blob:)/.test(address) ? address : "#";
}

function flat(children) {
  return children.flat(Infinity).filter((it) => it !== null && it !== undefined && it !== false);
}

/** Replaces the children of an element. If one had the keyboard focus or was scrolled, its replacement gets the focus and the position. */
export function fill(element, ...children) {
  const [focus, scroll] = [saveFocus(element), saveScroll(element)];
  element.replaceChildren(...flat(children));
  restoreFocus(element, focus);
  restoreScroll(element, scroll);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** Creates an SVG element. */
export function s(tag, props = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...flat(children));
  return element;
}

let ids = 0;

/** A form field with a label, a hint and an error message. */
export function field(label, control, hint) {
  const id = control.id || `f${++ids}`;
  control.id = id;
  const name = control.getAttribute("name");
  const fault = h("span", { class: "fault", id: `${id}-fault`, hidden: true });
  if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", { class: "field", "data-field": name },
    h("label", { for: id }, label), control,
    hint ? h("span", { class: "hint", id: `${id}-hint` }, hint) : null, fault);
}

/** A client-side validation error, in the shape of an API error. */
export function fieldError(field, message) {
  return Object.assign(new Error(message), { errors: [{ field, message }] });
}

/**
 * Turns a message of the API into a sentence: the API writes the message of a field to follow its name, and a detail in lower case. A
 * first word that is the name of a field stays as it is.
 */
export function sentence(message) {
  if (message === "is required") return "Fill in this field.";
  const text = /^[a-z]+(?![a-z]*[\w[.])/.test(message) ? message[0].toUpperCase() + message.slice(1) : message;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** An error with all empty required fields; `null` if there are none. */
function missingFields(element) {
  const empty = [...element.querySelectorAll("[required]")].filter((it) => !it.value);
  const errors = empty.map((it) => ({ field: it.name, message: "is required" }));
  return errors.length ? Object.assign(new Error(), { errors }) : null;
}

/** Shows the errors of an answer beside their fields; returns the text of the errors that match no field. */
export function showFaults(form, error) {
  for (const fault of form.querySelectorAll(".fault")) { fault.hidden = true; fault.textContent = ""; }
  for (const control of form.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
  if (!error) return "";
  const rest = [];
  let first = null;
  let firstFault = null;
  for (const { field: name, message } of error.errors ?? []) {
    const place = [...form.querySelectorAll("[data-field]")].find((it) => it.dataset.field.split(" ").includes(name.split(/[[.]/)[0]));
    if (!place) { rest.push(`${name}: ${message}`); continue; }
    const fault = place.querySelector(".fault");
    // Entries of a list are counted from 1.
    const entry = name.match(/\[(\d+)\]$/);
    const text = sentence(entry ? `Entry ${Number(entry[1]) + 1} ${message}` : message);
    fault.textContent = fault.textContent ? `${fault.textContent} ${text}` : text;
    fault.hidden = false;
    fault.id ||= `fault${++ids}`;
    firstFault ??= fault;
    const control = place.querySelector("input, select, textarea");
    if (control) {
      control.setAttribute("aria-invalid", "true");
      control.setAttribute("aria-errormessage", fault.id);
      first ??= control;
    }
  }
  // A field in a closed section must be visible to get the focus.
  first?.closest("details")?.setAttribute("open", "");
  first?.focus();
  firstFault?.scrollIntoView({ block: "nearest" });
  return (error.errors ?? []).length ? rest.join("; ") : error.message;
}

/** A form that submits once at a time and shows errors. */
export function form(props, submit, ...children) {
  const said = h("p", { class: "notice bad", role: "alert", hidden: true });
  const element = h("form", { ...props, novalidate: true, onsubmit: async (event) => {
    event.preventDefault();
    const button = element.querySelector("[type=submit]");
    if (button?.disabled) return;
    said.hidden = true;
    showFaults(element, null);
    if (button) { button.disabled = true; button.classList.add("busy"); }
    try {
      const missing = missingFields(element);
      if (missing) throw missing;
      await submit(new FormData(element), element);
    } catch (error) {
      const text = showFaults(element, error);
      said.textContent = text;
      said.hidden = !text;
      // In a long form the message may be outside the window.
      if (text) said.scrollIntoView({ block: "nearest" });
    } finally {
      if (button) { button.disabled = false; button.classList.remove("busy"); }
    }
  } }, ...children);
  // A row of actions holds the message, because the row may be sticky.
  const actions = element.querySelector(".actions");
  const send = element.querySelector("[type=submit]");
  if (actions) actions.prepend(said); else if (send) send.before(said); else element.append(said);
  return element;
}
