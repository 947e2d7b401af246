// Tabs with arrow keys.
import { fill, h } from "./dom.js";

let count = 0;

/** `content` renders the panel of a tab. Returns the node and a function that redraws it. */
export function tabs(label, names, content) {
  const id = `tabs-${++count}`;
  let chosen = names[0];
  const panel = h("div", { role: "tabpanel", id });
  const buttons = names.map((name, at) => h("button", { type: "button", role: "tab", id: `${id}-${at}`, "aria-controls": id, onclick: () => choose(name) }, name));
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": label, onkeydown: move }, buttons);

  function draw() {
    buttons.forEach((it, at) => {
      it.setAttribute("aria-selected", String(names[at] === chosen));
      it.tabIndex = names[at] === chosen ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", `${id}-${names.indexOf(chosen)}`);
    fill(panel, content(chosen));
  }

  function choose(name) {
    chosen = name;
    draw();
  }

  function move(event) {
    const at = names.indexOf(chosen);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const there = (to + names.length) % names.length;
    choose(names[there]);
    buttons[there].focus();
  }

  draw();
  return { node: h("div", { class: "stack tight" }, list, panel), draw };
}
