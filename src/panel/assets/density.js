// How all lists in this browser show their rows: comfortable, compact, or as a grid of images.
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";

const MODES = ["comfortable", "compact", "grid"];
const WORDS = { comfortable: "Comfortable rows", compact: "Compact rows", grid: "Images as a grid" };

const mode = () => (MODES.includes(document.documentElement.dataset.rows) ? document.documentElement.dataset.rows : MODES[0]);

export const isGrid = () => mode() === "grid";

/** Calls `redraw` when the user switches the mode, until `signal` aborts. */
export const onRowsChange = (redraw, signal) => addEventListener("tintype-rows", redraw, { signal });

/** A button that switches to the next mode. */
export function densitySwitch() {
  const button = h("button", { class: "icon", type: "button", onclick: () => {
    const rows = next();
    document.documentElement.dataset.rows = rows;
    try { localStorage.setItem("tintype-rows", rows); } catch { /* lasts for this page only */ }
    draw();
    dispatchEvent(new Event("tintype-rows"));
  } });
  const next = () => MODES[(MODES.indexOf(mode()) + 1) % MODES.length];
  const draw = () => {
    button.setAttribute("aria-label", WORDS[next()]);
    button.setAttribute("title", WORDS[next()]);
    fill(button, icon(next()));
  };
  draw();
  return button;
}
