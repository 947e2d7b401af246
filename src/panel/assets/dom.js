// Builds pages from data. Text only ever becomes text: nothing here reads markup.
import { stand, standing } from "./standing.js";

/** Makes an element. Properties that begin with "on" are listeners; `null` and `false` are left out. */
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
  else if (name === "href") element.setAttribute("href", safe(value));
  else element.setAttribute(name, value === true ? "" : value);
}

/** Addresses of this page, of this host or of the web; anything else, such as javascript:, leads nowhere. */
function safe(address) {
  return /^(#|\/(?!\/)|https?:|blob:)/.test(address) ? address : "#";
}

function flat(children) {
  return children.flat(Infinity).filter((it) => it !== null && it !== undefined && it !== false);
}

/** Replaces what an element holds. Whoever stands on something in it with the keyboard stands on its successor afterwards. */
export function fill(element, ...children) {
  const stood = standing(element);
  element.replaceChildren(...flat(children));
  stand(element, stood);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** Makes an SVG element. */
export function s(tag, props = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...flat(children));
  return element;
}

let ids = 0;

/** A field with its label, a hint, and room for what is wrong with it. */
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

/** A fault of a field that is found before anything is sent, in the form in which the service tells its own. */
export function misfit(field, message) {
  return Object.assign(new Error(message), { errors: [{ field, message }] });
}

/** A fault as a sentence: the service writes it to follow the name of its field. */
export function sentence(message) {
  if (message === "is required") return "Fill in this field.";
  const text = message[0].toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Faults of the fields that must be filled in and are not; nothing if there are none. */
function blanks(element) {
  const empty = [...element.querySelectorAll("[required]")].filter((it) => !it.value);
  const errors = empty.map((it) => ({ field: it.name, message: "is required" }));
  return errors.length ? Object.assign(new Error(), { errors }) : null;
}

/** Shows the faults of an answer beside their fields; returns what belongs to none of them. */
export function showFaults(form, error) {
  for (const fault of form.querySelectorAll(".fault")) { fault.hidden = true; fault.textContent = ""; }
  for (const control of form.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
  if (!error) return "";
  const rest = [];
  let first = null;
  for (const { field: name, message } of error.errors ?? []) {
    const place = [...form.querySelectorAll("[data-field]")].find((it) => it.dataset.field.split(" ").includes(name.split(/[[.]/)[0]));
    if (!place) { rest.push(`${name}: ${message}`); continue; }
    const fault = place.querySelector(".fault");
    // Of a list the one that is meant is named as people count.
    const entry = name.match(/\[(\d+)\]$/);
    const text = sentence(entry ? `Entry ${Number(entry[1]) + 1} ${message}` : message);
    fault.textContent = fault.textContent ? `${fault.textContent} ${text}` : text;
    fault.hidden = false;
    fault.id ||= `fault${++ids}`;
    const control = place.querySelector("input, select, textarea");
    if (control) {
      control.setAttribute("aria-invalid", "true");
      control.setAttribute("aria-errormessage", fault.id);
      first ??= control;
    }
  }
  // One that is folded away is shown first.
  first?.closest("details")?.setAttribute("open", "");
  first?.focus();
  return (error.errors ?? []).length ? rest.join("; ") : error.message;
}

/** A form that sends once at a time and shows what comes back. */
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
      const blank = blanks(element);
      if (blank) throw blank;
      await submit(new FormData(element), element);
    } catch (error) {
      const text = showFaults(element, error);
      said.textContent = text;
      said.hidden = !text;
    } finally {
      if (button) { button.disabled = false; button.classList.remove("busy"); }
    }
  } }, ...children);
  const last = element.querySelector(".actions, [type=submit]");
  if (last) last.before(said); else element.append(said);
  return element;
}
