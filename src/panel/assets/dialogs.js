// Toasts, dialogs and notices.
import { form, h } from "./dom.js";
import { icon } from "./icons.js";
import { restoreFocus, saveFocus } from "./focus.js";

/** Shows an element briefly, in the topmost open dialog if there is one: outside it everything is inert. */
function showToast(element, milliseconds) {
  const places = document.querySelectorAll("#toasts, dialog[open] > .toasts");
  places[places.length - 1].append(element);
  setTimeout(() => element.remove(), milliseconds);
}

export const toast = (text, bad = false) => showToast(h("div", { class: `toast fade ${bad ? "bad" : ""}` }, text), bad ? 8000 : 4000);

/** Shows what was done, with an Undo button. */
export function undoable(text, undo) {
  const element = h("div", { class: "toast fade" }, text, h("button", { class: "undo", type: "button", onclick: () => { element.remove(); undo(); } }, "Undo"));
  showToast(element, 10000);
}

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
  }
  toast("Copied");
}

const copyButton = (element) => h("button", { class: "button slim", type: "button", onclick: () => copy(element) }, "Copy");

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

/** Closes all dialogs, when the user leaves the page. */
export function closeAll() {
  for (const box of document.querySelectorAll("dialog[open]")) box.close();
}

/**
 * Opens a dialog with a form. `submit` gets the form data; if it throws, the dialog stays open. Resolves to the result of `submit`
 * once the dialog is closed, or to `undefined` if the user cancels.
 */
export function dialog({ title, text, fields = [], confirm = "Save", danger = false, submit }) {
  return new Promise((resolve) => {
    let outcome;
    const send = h("button", { class: `button ${danger ? "danger" : "main"}`, type: "submit" }, confirm);
    const box = open(title, text, (words) => form({}, async (data, element) => {
      outcome = (await submit(data, element)) ?? true;
      box.close();
    },
    words, ...fields,
    h("div", { class: "actions" },
      h("button", { class: "button quiet", type: "button", onclick: () => { if (!send.disabled) box.close(); } }, "Cancel"), send)),
    () => resolve(outcome));
    // A pending request must not be canceled: its answer may be shown only once.
    box.addEventListener("cancel", (event) => { if (send.disabled) event.preventDefault(); });
  });
}

/** Shows a secret. */
export function reveal({ title, text, value, more }) {
  open(title, text, (words) => h("form", { method: "dialog" }, words, secret(value), more ?? null,
    h("div", { class: "actions" }, h("button", { class: "button main" }, "Done"))));
}

export const notice = (kind, ...words) => h("div", { class: `notice ${kind}` },
  icon(kind === "warn" || kind === "bad" ? "warn" : "info"), h("div", {}, ...words));
