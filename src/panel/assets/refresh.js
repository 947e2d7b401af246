// Reloads a page: one reload at a time, the last request draws last, and errors are shown.
import { fill, h } from "./dom.js";
import { notice } from "./dialogs.js";

/** `node` is the status line above the page, `reloader` wraps a function that reloads, `live` sets whether the event stream is open. */
export function refresher(signal) {
  const node = h("div", { class: "stale", role: "status" });
  const faults = new Map();
  let live = true;
  let shown = "";

  function draw() {
    const [fault] = faults.values();
    // A lost connection explains a failed reload too.
    const text = !live ? "Connection lost. Reconnecting… This page may be out of date."
      : fault ? `Couldn't refresh: ${fault.message}` : "";
    // Screen readers announce each change once.
    if (text === shown) return;
    shown = text;
    const reload = () => Promise.all([...faults.keys()].map((run) => run()));
    fill(node, text ? notice("warn", h("div", { class: "row wraps spread" }, h("span", {}, text),
      fault ? h("button", { class: "button slim", type: "button", onclick: reload }, "Try again") : null)) : null);
  }

  /** Wraps `work`; the wrapper never throws. A call during a reload waits for the next reload. */
  function reloader(work) {
    let current = null;
    let next = null;
    async function once() {
      try {
        await work();
        faults.delete(run);
      } catch (error) {
        if (error.name !== "AbortError" && !signal.aborted) faults.set(run, error);
      }
      current = null;
      draw();
    }
    const begin = () => {
      next = null;
      current = signal.aborted ? null : once();
      return current;
    };
    const run = () => {
      if (!current && !next) return begin();
      next ??= current.then(begin);
      return next;
    };
    return run;
  }

  return { node, reloader, live: (is) => { live = is; draw(); } };
}

let isPressed = false;
// In the window's capture phase, so that the flag is current for all other listeners. The other buttons open menus, which may take the event of their release.
addEventListener("pointerdown", ({ button }) => { isPressed = button === 0; }, true);
for (const name of ["pointerup", "pointercancel"]) addEventListener(name, () => { isPressed = false; }, true);

/** Whether the user selects text or presses a button. A redraw would undo both. */
const isBusy = () => isPressed || !getSelection().isCollapsed;

/** Wraps `reload`: a call while the user selects text or presses a button waits until the end of that. */
export function postponed(reload, signal) {
  let waits = false;
  const run = () => {
    waits = isBusy();
    if (!waits) reload();
  };
  for (const name of ["selectionchange", "pointerup", "pointercancel"]) document.addEventListener(name, () => { if (waits) run(); }, { signal });
  return run;
}

/** Calls `reload` at an interval while the page is visible, for values that change without an event, such as waiting times. */
export function repeat(milliseconds, reload, signal) {
  const timer = setInterval(() => { if (!document.hidden && !isBusy()) reload(); }, milliseconds);
  signal.addEventListener("abort", () => clearInterval(timer));
}
