// The progress of a batch.
import { h } from "./dom.js";
import { badge } from "./format.js";

/** Whether the cancellation of an ended batch took effect: a batch whose requests were all done by then has just ended. */
export const wasCanceled = (batch) => batch.is_canceled && batch.status === "ended" && batch.counts.failed > 0;

function stateOf(batch) {
  if (batch.status === "in_progress") return "running";
  return wasCanceled(batch) ? "canceled" : batch.status;
}

/** The state; the colour of an ended batch shows whether requests failed. */
export function batchBadge(batch) {
  const { done, failed } = batch.counts;
  const state = stateOf(batch);
  return badge(state === "ended" && failed ? (done ? "degraded" : "failed") : state, state);
}

function words(batch) {
  const { total, queued, processing, done, failed } = batch.counts;
  const parts = [[done, "done"], [failed, wasCanceled(batch) ? "canceled or failed" : "failed"], [processing, "running"], [queued, "queued"]].filter(([count]) => count);
  return `${parts.map(([count, word]) => `${count} ${word}`).join(", ")} of ${total}`;
}

/** A bar of done, failed and running images, with the counts. */
export function meter(batch) {
  const { counts } = batch;
  const text = words(batch);
  const part = (kind, count) => {
    if (!count) return null;
    const drawn = h("i", { class: kind });
    drawn.style.width = `${(100 * count) / counts.total}%`;
    return drawn;
  };
  return h("div", { class: "meter" },
    h("div", { class: "track", role: "img", "aria-label": text }, part("good", counts.done), part("bad", counts.failed), part("busy", counts.processing)),
    h("span", { class: "small muted" }, text));
}
