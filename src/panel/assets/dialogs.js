// Toasts, dialogs and notices.
import { form, h } from "./dom.js";
import { icon } from "./icons.js";
import { restoreFocus, saveFocus } from "./focus.js";
import { keepDialog, takeDialog } from "./drafts.js";

/** Shows an element briefly, in the topmost open dialog if there is one: outside it everything is inert. */
function showToast(element, milliseconds) {
  const places = document.querySelectorAll("#toasts, dialog[open] > .toasts");
  places[places.length - 1].append(element);
  setTimeout(() => element.remove(), milliseconds);
}

export const toast = (text, bad = false) => showToast(h("div", { class: `toast fade ${bad ? "bad" : ""}` }, text), bad ? 8000 : 4000);

/** Shows what was done, with a button for a next action. */
export function followUp(text, action, work) {
  const element = h("div", { class: "toast fade" }, text, h("button", { class: "undo", type: "button", onclick: () => { element.remove(); work(); } }, action));
  showToast(element, 10000);
}

export const undoable = (text, undo) => followUp(text, "Undo", undo);

/** Runs `work`, shows `success` or the error, then calls `reload`. */
export async function attempt(work, success, reload) {
  try {
    const result = await work();
    if (success) toast(success);
    await reload?.();
    return result;
  } catch (error) {
    // The user left the page.
    if (error.name !== "AbortError") toast(error.message, true);
    return undefined;
  }
}

/** Copies the text of an element. The clipboard API needs https or localhost; without it, selects the element and copies the selection. */
export async function copy(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
  } catch {
    getSelection().selectAllChildren(element);
    if (!document.execCommand("copy")) {
      toast("Your browser blocked copying. The text is selected: press Ctrl+C or Cmd+C.", true);
      return;
    }
    // A page with a selection postpones its reloads.
    getSelection().removeAllRanges();
  }
  toast("Copied");
}

const copyButton = (element) => h("button", { class: "button slim", type: "button", onclick: () => copy(element) }, "Copy");

/** A small button that copies the text of an element; `what` names the text. */
export const copyIcon = (element, what) => h("button", { class: "icon slim copy", type: "button", title: `Copy ${what}`, "aria-label": `Copy ${what}`, onclick: () => copy(element) }, icon("copy", 16));

/** An id with a copy button. */
export function copyable(id, what) {
  const shown = h("code", { class: "wrap" }, id);
  return h("span", { class: "copyable" }, shown, copyIcon(shown, what));
}

/** A text with a copy button. */
export function secret(text) {
  const shown = h("code", {}, text);
  return h("div", { class: "secret" }, shown, copyButton(shown));
}

/** A code block with a copy button. */
export function code(text, long = false) {
  const shown = h("code", {}, text);
  return h("div", { class: long ? "code long" : "code" }, h("pre", { tabindex: "0" }, shown), copyButton(shown));
}

let opened = 0;

/** Opens a modal dialog; `closed` is called after it has closed. */
export function openBox(props, content, closed) {
  const app = document.getElementById("app");
  const saved = saveFocus(app);
  const toasts = h("div", { class: "toasts", role: "status" });
  const box = h("dialog", { ...props, onclose: () => {
    document.getElementById("toasts").append(...toasts.childNodes);
    box.remove();
    // The browser restores the focus, unless the element was redrawn.
    if (document.activeElement === document.body) restoreFocus(app, saved);
    closed?.();
  } }, content, toasts);
  document.body.append(box);
  box.showModal();
  return box;
}

/** Opens a modal dialog with a title and a text. `content` returns the children from the heading element. */
function open(title, text, content, closed) {
  const id = `dialog-title-${++opened}`;
  return openBox({ "aria-labelledby": id }, content(h("div", { class: "stack tight" }, h("h2", { id }, title), text ? h("p", { class: "muted" }, text) : null)), closed);
}

/** The values of a form without files. */
const valuesOf = (element) => [...new FormData(element)].filter(([, value]) => typeof value === "string");

/** Fills a form; opens the section of each control that changes. */
function refill(element, values) {
  for (const control of element.elements) {
    if (!control.name) continue;
    const typed = values.filter(([name]) => name === control.name).map(([, value]) => value);
    const isSwitch = ["checkbox", "radio"].includes(control.type);
    const [property, value] = isSwitch ? ["checked", typed.includes(control.value)] : ["value", typed[0] ?? ""];
    if (control[property] === value) continue;
    control[property] = value;
    control.closest("details")?.setAttribute("open", "");
  }
}

/** Keeps what was typed into the open dialogs for `dialog`, when the session ends. */
export function keepTyped() {
  for (const box of document.querySelectorAll("dialog[open]")) box.dispatchEvent(new Event("tintype-keep"));
}

/** Closes all dialogs, when the user leaves the page. */
export function closeAll() {
  for (const box of document.querySelectorAll("dialog[open]")) box.close();
}

/**
 * Opens a dialog with a form. `submit` gets the form data; if it throws, the dialog stays open, otherwise `success` is shown. Resolves to the result of `submit`
 * once the dialog is closed, or to `undefined` if the user presses the button `dismiss`. Text that was typed when the session ended is filled in again.
 */
export function dialog({ title, text, fields = [], confirm = "Save", dismiss = "Cancel", danger = false, submit, success }) {
  return new Promise((resolve) => {
    let outcome;
    const send = h("button", { class: `button ${danger ? "danger" : "main"}`, type: "submit" }, confirm);
    const again = h("div", { hidden: true }, notice("info", "This is what you typed before your session ended."));
    let typed;
    const box = open(title, text, (words) => {
      typed = form({}, async (data, element) => {
        outcome = (await submit(data, element)) ?? true;
        box.close();
        if (success) toast(success);
      },
      words, again, ...fields,
      h("div", { class: "actions" },
        h("button", { class: "button quiet", type: "button", onclick: () => { if (!send.disabled) box.close(); } }, dismiss), send));
      return typed;
    },
    () => resolve(outcome));
    const initial = JSON.stringify(valuesOf(typed));
    const id = JSON.stringify([title, text, initial]);
    box.addEventListener("tintype-keep", () => {
      const values = valuesOf(typed);
      if (JSON.stringify(values) !== initial) keepDialog(id, values);
    });
    const before = takeDialog(id);
    // Later, because the caller may read the initial values of the form once it is open.
    if (before) queueMicrotask(() => {
      refill(typed, before);
      again.hidden = false;
    });
    // A pending request must not be canceled: its answer may be shown only once.
    box.addEventListener("cancel", (event) => { if (send.disabled) event.preventDefault(); });
  });
}

/**
 * A dialog that changes a record. `read` returns the values of the form by name, and `check` throws if they are invalid. `send` gets the
 * values that the user changed; without a change it is not called. The other values are not sent, because others may have changed them.
 */
export function changeDialog({ read, check, send, ...rest }) {
  let before = null;
  const shown = dialog({ ...rest, success: "Saved", submit: (data) => {
    const values = read(data);
    check?.(values);
    const changed = Object.entries(values).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]));
    return changed.length ? send(Object.fromEntries(changed)) : null;
  } });
  before = read(new FormData([...document.querySelectorAll("dialog form")].pop()));
  return shown;
}

/** Shows a secret. */
export function reveal({ title, text, value, more }) {
  open(title, text, (words) => h("form", { method: "dialog" }, words, secret(value), more ?? null,
    h("div", { class: "actions" }, h("button", { class: "button main" }, "Done"))));
}

export const notice = (kind, ...words) => h("div", { class: `notice ${kind}` },
  icon(kind === "warn" || kind === "bad" ? "warn" : "info"), h("div", {}, ...words));
