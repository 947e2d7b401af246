// The star of a job. Retention does not delete the image of a favourite.
import { h } from "./dom.js";
import { call, remove } from "./api.js";
import { attempt } from "./dialogs.js";
import { icon } from "./icons.js";

/**
 * A button that adds or removes a favourite, then calls `changed`. Viewers see a plain star on favourites. A job without an image has
 * no star, unless it is a favourite of an earlier version.
 */
export function star(job, context, changed) {
  if (job.status !== "done" && !job.favourite) return null;
  if (!context.canChange) return job.favourite ? h("span", { class: "star on", role: "img", "aria-label": "Favourite", title: "Favourite" }, icon("star")) : null;
  const button = h("button", { class: "icon star", type: "button", onclick: () => attempt(toggle) }, icon("star"));
  const draw = () => {
    button.classList.toggle("on", job.favourite);
    button.setAttribute("aria-pressed", String(job.favourite));
    const words = job.favourite ? "Favourite: the image is kept" : "Favourite: keep the image";
    button.setAttribute("aria-label", `Favourite: ${(job.prompt ?? "a long prompt").slice(0, 80)}`);
    button.title = words;
  };
  async function toggle() {
    const path = `${context.base}/jobs/${job.job_id}/favourite`;
    await (job.favourite ? remove(path) : call("PUT", path));
    job.favourite = !job.favourite;
    draw();
    await changed?.();
  }
  draw();
  return button;
}
