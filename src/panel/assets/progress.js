// The progress of a job, if its backend reports it.
import { h } from "./dom.js";

/** The position in the queue, or a progress bar: an indeterminate one if the progress is unknown. */
export function progressView(job) {
  if (job?.queue_position) return h("div", { class: "small" }, job.queue_position === 1 ? "Next in the queue." : `Position ${job.queue_position} in the queue.`);
  if (typeof job?.progress === "number") {
    const percent = Math.round(job.progress * 100);
    return h("div", { class: "stack tight" }, h("progress", { max: 100, value: percent, "aria-label": "Progress" }), h("span", { class: "small" }, `${percent} %`));
  }
  return h("div", { class: "indeterminate" }, h("i"));
}
