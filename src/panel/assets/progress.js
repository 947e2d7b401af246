// How far a picture is, as far as its back end tells.
import { h } from "./dom.js";

/** The place in the queue, or a bar: full to what is done, or moving where nobody knows. */
export function develop(job) {
  if (job?.queue_position) return h("div", { class: "small" }, job.queue_position === 1 ? "It is the next one." : `It is number ${job.queue_position} in the queue.`);
  if (typeof job?.progress === "number") {
    const percent = Math.round(job.progress * 100);
    return h("div", { class: "stack tight" }, h("progress", { max: 100, value: percent, "aria-label": "Progress" }), h("span", { class: "small" }, `${percent} %`));
  }
  return h("div", { class: "develop" }, h("i"));
}
