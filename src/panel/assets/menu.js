// A menu of more actions for a row.
import { h } from "./dom.js";
import { icon } from "./icons.js";

const GAP = 4;
let count = 0;

/** `items` are [text, work, kind]; empty items are skipped. The browser closes the menu on Escape and on a click elsewhere. */
export function menu(label, items) {
  const id = `menu-${++count}`;
  const list = h("div", { class: "menu", popover: "auto", id, ontoggle: ({ newState }) => { if (newState === "open") show(); else returnFocus(); } },
    items.filter(Boolean).map(([text, work, kind = ""]) => h("button", { class: `item ${kind}`, type: "button", onclick: () => { list.hidePopover(); work(); } }, text)));
  const button = h("button", { class: "icon slim", type: "button", "aria-label": label, popovertarget: id }, icon("more"));

  /** Places the menu below the button, or above it if it does not fit. */
  function show() {
    const at = button.getBoundingClientRect();
    const below = at.bottom + GAP + list.offsetHeight <= innerHeight;
    list.style.top = `${below ? at.bottom + GAP : Math.max(GAP, at.top - GAP - list.offsetHeight)}px`;
    const right = Math.min(at.right, document.documentElement.clientWidth - GAP);
    list.style.left = `${Math.max(GAP, right - list.offsetWidth)}px`;
    list.dataset.placed = "";
    if (!list.contains(document.activeElement)) list.querySelector("button").focus();
  }

  /** The browser returns the focus to the button only if the button opened the menu, and not the redraw of a list. */
  function returnFocus() {
    if (document.activeElement === document.body) button.focus();
  }

  return h("span", {}, button, list);
}
