// Images of jobs.
import { h } from "./dom.js";
import { icon } from "./icons.js";

/** The address of the image of a job of the account at `base`: a small form of this width, or the image itself. */
export const pictureAt = (base, id, width) => `/panel/api${base}/jobs/${id}/picture${width ? `?width=${width}` : ""}`;

/** A small image of a job of the account at `base`, or an icon if the image is gone. */
export function picture(job, base, width, props) {
  return h("img", { ...props, src: pictureAt(base, job.job_id, width), alt: "", loading: "lazy", decoding: "async",
    onerror: (event) => event.target.replaceWith(h("span", { class: "thumb" }, icon("jobs"))) });
}
