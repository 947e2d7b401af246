// How the image of a running job looks by now, where its back end shows that.
import { h } from "./dom.js";

/** Milliseconds between two looks. */
const PAUSE = 2000;
/** The images of running jobs, by job. A page redraws its stage with each percent: the element stays the same, so nothing flickers. */
const shown = new Map();

function forget(id, node) {
  if (node.src) URL.revokeObjectURL(node.src);
  shown.delete(id);
}

/** Looks again and again, for as long as the image is part of the page. */
async function follow(id, node, address) {
  try {
    const answer = await fetch(address, { credentials: "same-origin" });
    if (answer.status === 200) {
      const before = node.src;
      node.src = URL.createObjectURL(await answer.blob());
      node.hidden = false;
      if (before) URL.revokeObjectURL(before);
    }
  } catch {
    // A preview that does not come is no loss.
  }
  setTimeout(() => {
    if (shown.get(id) !== node) return;
    if (node.isConnected) follow(id, node, address);
    else forget(id, node);
  }, PAUSE);
}

/** The preview of a job of the account at `base`; hidden until there is one. The back end is asked for it only while this is shown. */
export function preview(job, base) {
  const id = job.job_id;
  const held = shown.get(id);
  if (job.status !== "processing") {
    if (held) forget(id, held);
    return null;
  }
  if (held) return held;
  const node = h("img", { class: "preview", hidden: true, alt: "Preview of the unfinished image" });
  shown.set(id, node);
  follow(id, node, `/panel/api${base}/jobs/${id}/preview`);
  return node;
}
