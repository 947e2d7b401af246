// The stream of change events, on which a page reloads.
import { get } from "./api.js";

/** A shorter interruption is not shown. */
const GRACE = 3_000;
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;

/**
 * Listens until `signal` ends it. One stream for each page that is in sight: a browser has six connections to a host, and tabs
 * in the background would take them all. `live` is told whether hints can come.
 */
export function listen(path, look, live, signal) {
  let source = null;
  let pause = FIRST_PAUSE;
  let waiting = null;
  let worry = null;
  const calm = () => { clearTimeout(worry); worry = null; };

  function close() {
    source?.close();
    source = null;
    clearTimeout(waiting);
  }

  function open() {
    close();
    source = new EventSource(`/panel/api${path}`);
    source.addEventListener("changed", look);
    // Changes before the stream was open had no event.
    source.addEventListener("ready", () => { pause = FIRST_PAUSE; calm(); live(true); look(); });
    source.addEventListener("error", lost);
  }

  /** The browser reconnects by itself, unless the answer was not a stream: from a proxy, or because the session has ended. */
  async function lost() {
    worry ??= setTimeout(() => live(false), GRACE);
    if (source?.readyState !== EventSource.CLOSED) return;
    source = null;
    try {
      await get("/session", signal);
    } catch (error) {
      if (error.status === 401) { dispatchEvent(new CustomEvent("signed-out", { detail: "expired" })); return; }
    }
    if (signal.aborted || document.hidden || source) return;
    waiting = setTimeout(open, pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }

  function turn() {
    calm();
    if (document.hidden || signal.aborted) close();
    else open();
  }

  document.addEventListener("visibilitychange", turn, { signal });
  signal.addEventListener("abort", turn);
  turn();
}
