// The stream of hints that something has changed, upon which a page looks again.
import { get } from "./api.js";

/** A break shorter than this is nobody's concern. */
const PATIENCE = 3_000;
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
    // What changed since the page was read, or during a break, has had no hint.
    source.addEventListener("ready", () => { pause = FIRST_PAUSE; calm(); live(true); look(); });
    source.addEventListener("error", lost);
  }

  /** The browser tries again by itself, but for an answer that is no stream: a proxy's, or that the session is over. */
  async function lost() {
    worry ??= setTimeout(() => live(false), PATIENCE);
    if (source?.readyState !== EventSource.CLOSED) return;
    source = null;
    try {
      await get("/session", signal);
    } catch (error) {
      if (error.status === 401) { dispatchEvent(new CustomEvent("signed-out")); return; }
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
