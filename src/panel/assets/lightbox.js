// Shows one image over the page, or two side by side.
import { fill, h } from "./dom.js";
import { money, time } from "./format.js";
import { attempt, copy, openBox } from "./dialogs.js";
import { draftOf } from "./drafts.js";
import { star } from "./favourite.js";
import { icon } from "./icons.js";
import { inputFile } from "./input_images.js";
import { imageAt, missing, whyMissing } from "./image.js";

const named = (job) => `Image of: ${(job.prompt ?? "a long prompt").slice(0, 200)}`;

/** An image of at most 2048 pixels width; with `whole` the original. */
function large(job, context, whole) {
  return h("img", { src: imageAt(context.base, job.job_id, whole ? null : 2048), alt: named(job), width: job.picture.width, height: job.picture.height,
    onerror: (event) => event.target.replaceWith(missing(event.target.src)) });
}

/** Adds the image to the input images of the playground, and opens the playground. */
async function useAsInput(job, context) {
  const answer = await fetch(imageAt(context.base, job.job_id), { credentials: "same-origin", signal: context.signal });
  if (!answer.ok) throw new Error(`The image is not available. ${whyMissing(answer.status)}`);
  const blob = await answer.blob();
  const file = new File([blob], `${job.job_id.slice(-8)}.${blob.type.split("/")[1] ?? "png"}`, { type: blob.type });
  draftOf(context.account.id).images.push(inputFile(file));
  location.hash = "#/playground";
}

const facts = (job) => h("p", { class: "small muted" }, `${job.tier} · ${job.resolution} · ${job.ratio} · ${job.picture.width} × ${job.picture.height} · ${money(job.price)} · `, time(job.finished_at));

function actions(job, context, changed) {
  const prompt = h("span", { class: "words" }, job.prompt ?? "The prompt was too long to store and is no longer available.");
  return [prompt, facts(job), h("div", { class: "row wraps" },
    typeof job.favourite === "boolean" ? star(job, context, changed) : null,
    h("a", { class: "button slim", href: imageAt(context.base, job.job_id), download: true }, "Download"),
    job.prompt ? h("button", { class: "button slim", type: "button", onclick: () => copy(prompt) }, "Copy prompt") : null,
    context.canGenerate ? h("button", { class: "button slim", type: "button", onclick: () => attempt(() => useAsInput(job, context)) }, "Use as input") : null,
    context.canGenerate ? h("a", { class: "button slim", href: `#/playground?again=${job.job_id}` }, "Run again") : null,
    h("a", { class: "button slim", href: `#/jobs/${job.job_id}` }, "Details"))];
}

/** Shows the image of `jobs[at]`. Arrow keys switch images, Z and a click zoom, Escape closes. `changed` is called when a favourite is added or removed. */
export function lightbox(jobs, at, context, changed) {
  let zoomed = false;
  const view = h("div", { class: "view" });
  const details = h("div", { class: "details stack tight" });
  const spoken = h("p", { class: "sr", role: "status" });
  const button = (label, name, work) => h("button", { class: "icon", type: "button", "aria-label": label, title: label, onclick: work }, icon(name, 22));
  const before = button("Previous image", "left", () => go(-1));
  const after = button("Next image", "right", () => go(1));
  const zoom = h("button", { class: "button slim", type: "button", onclick: () => toggleZoom() }, "Zoom");

  function draw() {
    const job = jobs[at];
    view.classList.toggle("zoomed", zoomed);
    view.tabIndex = zoomed ? 0 : -1;
    zoom.setAttribute("aria-pressed", String(zoomed));
    // A disabled button would lose the keyboard focus.
    before.setAttribute("aria-disabled", String(at === 0));
    after.setAttribute("aria-disabled", String(at === jobs.length - 1));
    fill(view, large(job, context, zoomed));
    fill(details, actions(job, context, changed));
    spoken.textContent = `${at + 1} of ${jobs.length}. ${named(job)}`;
  }
  function go(step) {
    const next = at + step;
    if (next < 0 || next >= jobs.length) return;
    [at, zoomed] = [next, false];
    draw();
  }
  function toggleZoom() {
    zoomed = !zoomed;
    draw();
  }
  view.addEventListener("click", toggleZoom);
  const box = openBox({ class: "lightbox", "aria-label": "Image", onkeydown: (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const work = { ArrowLeft: () => go(-1), ArrowRight: () => go(1), z: toggleZoom }[event.key];
    // In a zoomed image, the arrow keys scroll.
    if (!work || (zoomed && event.key !== "z")) return;
    event.preventDefault();
    work();
  } },
  h("div", { class: "shown" }, h("div", { class: "row spread tools" }, h("span", { class: "row" }, before, after, zoom), button("Close", "close", () => box.close())), view, details, spoken));
  draw();
}

export function sideBySide(jobs, context) {
  const box = openBox({ class: "lightbox", "aria-label": "Two images" },
    h("div", { class: "shown" }, h("div", { class: "row spread tools" }, h("b", {}, "Compare"),
      h("button", { class: "icon", type: "button", "aria-label": "Close", onclick: () => box.close() }, icon("close", 22))),
    h("div", { class: "pair" }, jobs.map((job) => h("figure", {}, h("div", { class: "view" }, large(job, context)),
      h("figcaption", { class: "small" }, h("span", { class: "words" }, job.prompt ?? "A long prompt"), facts(job)))))));
}
