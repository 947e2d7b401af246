// The stream of change events that makes a page reload its data.
import { callPath, get } from "./api.js";

/** A shorter interruption is not shown. */
const GRACE = 3_000;
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;

/**
 * Listens until `signal` aborts. Only visible pages have a stream: a browser opens six connections to a host, and background tabs
 * would use them all. Calls `live` with whether the stream works.
 */
export function listen(path, reload, live, signal) {
  let source = null;
  let pause = FIRST_PAUSE;
  let waiting = null;
  let grace = null;
  const endGrace = () => { clearTimeout(grace); grace = null; };

  function close() {
    source?.close();
    source = null;
    clearTimeout(waiting);
  }

  function open() {
    close();
    source = new EventSource(callPath(path));
    source.addEventListener("changed", reload);
    // Changes from before the stream opened had no event.
    source.addEventListener("ready", () => { pause = FIRST_PAUSE; endGrace(); live(true); reload(); });
    source.addEventListener("error", lost);
  }

  /** The browser reconnects, unless the answer was not a stream: a proxy answered, or the session has ended. */
  async function lost() {
    grace ??= setTimeout(() => live(false), GRACE);
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

  function update() {
    endGrace();
    if (document.hidden || signal.aborted) close();
    else open();
  }

  document.addEventListener("visibilitychange", update, { signal });
  signal.addEventListener("abort", update);
  update();
}
