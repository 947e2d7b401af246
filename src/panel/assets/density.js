// The height of rows: comfortable or compact, for all lists of this browser.
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";

const isCompact = () => document.documentElement.dataset.rows === "compact";

/** Switches between comfortable and compact rows. */
export function densitySwitch() {
  const button = h("button", { class: "icon", type: "button", onclick: () => {
    const rows = isCompact() ? "comfortable" : "compact";
    document.documentElement.dataset.rows = rows;
    try { localStorage.setItem("tintype-rows", rows); } catch { /* lasts for this page only */ }
    draw();
  } });
  const draw = () => {
    const words = isCompact() ? "Comfortable rows" : "Compact rows";
    button.setAttribute("aria-label", words);
    button.setAttribute("title", words);
    fill(button, icon(isCompact() ? "comfortable" : "compact"));
  };
  draw();
  return button;
}
