// Images of jobs.
import { h } from "./dom.js";
import { icon } from "./icons.js";

/** The URL of a job's image: a thumbnail of this width, or the original. `base` is the path of the account. */
export const imageAt = (base, id, width) => `/panel/api${base}/jobs/${id}/picture${width ? `?width=${width}` : ""}`;

/** A thumbnail, or an icon if the image was deleted. */
export function image(job, base, width, props) {
  return h("img", { ...props, src: imageAt(base, job.job_id, width), alt: "", loading: "lazy", decoding: "async",
    onerror: (event) => event.target.replaceWith(h("span", { class: "thumb" }, icon("jobs"))) });
}
