// The preview of a running job, if its backend sends one.
import { callPath } from "./api.js";
import { h } from "./dom.js";

/** Milliseconds between two requests. */
const INTERVAL = 2000;
/** Preview elements by job id. Redraws reuse the element, so that it does not flicker. */
const shown = new Map();

function forget(id, node) {
  if (node.src) URL.revokeObjectURL(node.src);
  shown.delete(id);
}

/** Polls while the image is part of the page. */
async function poll(id, node, address) {
  try {
    const answer = await fetch(address, { credentials: "same-origin" });
    if (answer.status === 200) {
      const before = node.src;
      node.src = URL.createObjectURL(await answer.blob());
      node.hidden = false;
      if (before) URL.revokeObjectURL(before);
    }
  } catch {
    // A preview is optional.
  }
  setTimeout(() => {
    if (shown.get(id) !== node) return;
    if (node.isConnected) poll(id, node, address);
    else forget(id, node);
  }, INTERVAL);
}

/** The preview of a job; hidden until one arrives. The backend sends previews only while a page polls. `base` is the path of the account. */
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
  poll(id, node, callPath(`${base}/jobs/${id}/preview`));
  return node;
}
