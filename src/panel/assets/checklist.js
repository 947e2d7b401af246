// The first steps of an account. Hidden when all are done, or when the user hides the list.
import { h } from "./dom.js";
import { icon } from "./icons.js";

const PREFIX = "tintype-steps-hidden-";

function isHidden(account) {
  try { return localStorage.getItem(PREFIX + account) === "1"; } catch { return false; }
}

/** `has` holds a boolean per step. `has.people` is `undefined` unless the operator asks, and `has.backup` unless this process backs up its own records. */
export function checklist({ session, account, canChange }, has, redraw) {
  if (!canChange || isHidden(account.id)) return null;
  const steps = [
    ...(session.kind === "operator" ? [{ done: !session.demo_models.length, words: "Connect a model", note: "Add a backend to config.toml.", link: ["#/service", "Backends"] }] : []),
    { done: has.images, words: "Generate an image", note: "Try a prompt in the playground.", link: ["#/playground", "Playground"] },
    { done: has.keys, words: "Create an API key", note: "Programs authenticate with it.", link: ["#/keys", "API keys"] },
    { done: has.webhooks, words: "Add a webhook", note: "Your program receives each result.", link: ["#/webhooks", "Webhooks"] },
    ...(has.people === undefined ? [] : [{ done: has.people, words: "Invite the people of this account", note: "They sign in with email and password and see only this account.", link: ["#/people", "People"] }]),
    ...(has.backup === undefined ? [] : [{ done: has.backup, words: "Take a backup", note: ["In a shell on this machine: ", h("code", {}, "tintype backup backups")], link: ["#/service", "Service"] }]),
  ];
  const done = steps.filter((it) => it.done).length;
  if (done === steps.length) return null;
  const hide = () => {
    try { localStorage.setItem(PREFIX + account.id, "1"); } catch { /* lasts until the next load */ }
    redraw();
  };
  return h("section", { class: "card steps" },
    h("div", { class: "row spread" }, h("h2", {}, "First steps"),
      h("span", { class: "row" }, h("span", { class: "small muted" }, `${done} of ${steps.length} done`), h("button", { class: "button quiet slim", type: "button", onclick: hide }, "Hide"))),
    h("ol", {}, steps.map((it) => h("li", { class: it.done ? "done" : null },
      h("span", { class: "tick" }, it.done ? icon("check", 14) : null, h("span", { class: "sr" }, it.done ? "Done: " : "To do: ")),
      h("div", {}, h("b", {}, it.words), it.done ? null : h("div", { class: "small muted" }, it.note)),
      it.done ? null : h("a", { href: it.link[0] }, it.link[1])))));
}
