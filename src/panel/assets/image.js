// Images of jobs.
import { callPath } from "./api.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";

/** The URL of a job's image: a thumbnail of this width, or the original. `base` is the path of the account. */
export const imageAt = (base, id, width) => callPath(`${base}/jobs/${id}/picture${width ? `?width=${width}` : ""}`);

/** A thumbnail, or an icon if the image was deleted. */
export function image(job, base, width, props) {
  return h("img", { ...props, src: imageAt(base, job.job_id, width), alt: "", loading: "lazy", decoding: "async",
    onerror: (event) => event.target.replaceWith(h("span", { class: "thumb" }, icon("jobs"))) });
}

/** Why the response to the request for an image has none. */
export const whyMissing = (status) => (status === 410 ? "It was deleted." : "It could not be loaded. Try again in a moment.");

/** What takes the place of an image that could not be loaded. An event of an image does not tell the reason, so another request does. */
export function missing(address) {
  const why = h("span");
  fetch(address, { credentials: "same-origin" }).then((answer) => answer.status, () => 0).then((status) => fill(why, whyMissing(status)));
  return h("div", { class: "empty" }, h("b", {}, "The image is not available"), why);
}
