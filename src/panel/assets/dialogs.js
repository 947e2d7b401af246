// What is said and asked over a page.
import { fill, form, h } from "./dom.js";
import { icon } from "./icons.js";

/** Says something for a moment. */
export function toast(text, bad = false) {
  const element = h("div", { class: `toast fade ${bad ? "bad" : ""}` }, text);
  document.getElementById("toasts").append(element);
  setTimeout(() => element.remove(), bad ? 8000 : 4000);
}

/** Does something and says so, or says why not. */
export async function attempt(work, said) {
  try {
    const result = await work();
    if (said) toast(said);
    return result;
  } catch (error) {
    toast(error.message, true);
    return undefined;
  }
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied");
  } catch {
    toast("The browser does not allow copying; select the text instead", true);
  }
}

/** A text to take away, with a button for it. */
export const secret = (text) => h("div", { class: "secret" },
  h("code", {}, text), h("button", { class: "button slim", type: "button", onclick: () => copy(text) }, "Copy"));

/** A block of code with a button to copy it. */
export const code = (text, long = false) => h("div", { class: long ? "code long" : "code" },
  h("pre", { tabindex: "0" }, h("code", {}, text)),
  h("button", { class: "button slim", type: "button", onclick: () => copy(text) }, "Copy"));

/** Opens a dialog with a form. `submit` gets the form's data; the dialog stays when it throws. */
export function dialog({ title, text, fields = [], confirm = "Save", danger = false, submit }) {
  return new Promise((resolve) => {
    let outcome;
    const close = () => box.close();
    const box = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => { box.remove(); resolve(outcome); } });
    box.append(form({}, async (data, element) => {
      outcome = (await submit(data, element)) ?? true;
      close();
    },
    h("div", { class: "stack tight" }, h("h2", { id: "dialog-title" }, title), text ? h("p", { class: "muted" }, text) : null),
    ...fields,
    h("div", { class: "actions" },
      h("button", { class: "button quiet", type: "button", onclick: close }, "Cancel"),
      h("button", { class: `button ${danger ? "danger" : "main"}`, type: "submit" }, confirm))));
    document.body.append(box);
    box.showModal();
  });
}

/** Shows something that is to be read, and taken away, before it is gone. */
export function reveal({ title, text, value, more }) {
  const box = h("dialog", { "aria-labelledby": "dialog-title", onclose: () => box.remove() });
  fill(box, h("form", { method: "dialog" },
    h("div", { class: "stack tight" }, h("h2", { id: "dialog-title" }, title), h("p", { class: "muted" }, text)),
    secret(value), more ?? null,
    h("div", { class: "actions" }, h("button", { class: "button main" }, "Done"))));
  document.body.append(box);
  box.showModal();
}

export const notice = (kind, ...words) => h("div", { class: `notice ${kind}` },
  icon(kind === "warn" || kind === "bad" ? "warn" : "info"), h("div", {}, ...words));
