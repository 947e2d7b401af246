// Pages that stay fresh: one look at a time, the last one asked for is the last that draws, and what goes wrong is said.
import { fill, h } from "./dom.js";
import { notice } from "./dialogs.js";

/**
 * What a page shows of its freshness: `node` is the line above it, `fresh` makes a function that looks again, `live` is told
 * whether changes are heard of.
 */
export function freshness(signal) {
  const node = h("div", { class: "stale", role: "status" });
  const faults = new Map();
  let live = true;
  let said = "";

  function draw() {
    const [fault] = faults.values();
    // A look that fails is only one of the things that a lost connection brings.
    const text = !live ? "Not live: the connection to the service is lost, and is tried again. What you see may be out of date."
      : fault ? `Could not look again: ${fault.message}` : "";
    // The same words are not said twice.
    if (text === said) return;
    said = text;
    const again = () => Promise.all([...faults.keys()].map((look) => look()));
    fill(node, text ? notice("warn", h("div", { class: "row wraps spread" }, h("span", {}, text),
      fault ? h("button", { class: "button slim", type: "button", onclick: again }, "Try again") : null)) : null);
  }

  /** A function that looks again by `work`. It never throws; whoever asks while it looks gets the look after that one. */
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
