// Reloads a page: one reload at a time, the last request draws last, and errors are shown.
import { fill, h } from "./dom.js";
import { notice } from "./dialogs.js";

/** `node` is the status line above the page, `fresh` wraps a function that reloads, `live` sets whether the event stream is open. */
export function refresher(signal) {
  const node = h("div", { class: "stale", role: "status" });
  const faults = new Map();
  let live = true;
  let said = "";

  function draw() {
    const [fault] = faults.values();
    // A lost connection explains a failed reload too.
    const text = !live ? "Connection lost. Reconnecting… This page may be out of date."
      : fault ? `Couldn't refresh: ${fault.message}` : "";
    // Screen readers announce each change once.
    if (text === said) return;
    said = text;
    const again = () => Promise.all([...faults.keys()].map((look) => look()));
    fill(node, text ? notice("warn", h("div", { class: "row wraps spread" }, h("span", {}, text),
      fault ? h("button", { class: "button slim", type: "button", onclick: again }, "Try again") : null)) : null);
  }

  /** Wraps `work`; the wrapper never throws. A call during a reload waits for the next reload. */
  function fresh(work) {
    let looking = null;
    let next = null;
    async function once() {
      try {
        await work();
        faults.delete(look);
      } catch (error) {
        if (error.name !== "AbortError" && !signal.aborted) faults.set(look, error);
      }
      looking = null;
      draw();
    }
    const begin = () => {
      next = null;
      looking = signal.aborted ? null : once();
      return looking;
    };
    const look = () => {
      if (!looking && !next) return begin();
      next ??= looking.then(begin);
      return next;
    };
    return look;
  }

  return { node, fresh, live: (is) => { live = is; draw(); } };
}
