// The images of the account as a grid, with a lightbox and a comparison of two images.
import { field, fill, h } from "./dom.js";
import { query } from "./api.js";
import { head } from "./shell.js";
import { days, filterBar, filtersOf, indexNote, keepFilters, noneOf, options, search, select } from "./filters.js";
import { toast } from "./dialogs.js";
import { empty, listing } from "./lists.js";
import { star } from "./favourite.js";
import { lightbox, sideBySide } from "./lightbox.js";
import { image } from "./image.js";

const words = (job) => job.prompt ?? "A long prompt";

export async function gallery(main, context) {
  const filters = filtersOf(context.search, ["favourite", "prompt", "tier", "key", "created_after", "created_before"]);
  const keys = await options(`${context.base}/keys`, context.signal, (it) => [it.key_id, it.name.slice(0, 40)], filters.key);
  let shown = [];
  /** At most two images to compare, by job id. */
  const chosen = new Map();
  const bar = h("div", { class: "compare", role: "status" });

  function drawBar() {
    const [first, second] = chosen.values();
    fill(bar, first ? h("div", { class: "row wraps spread" }, h("span", {}, second ? "Two images selected." : "Choose a second image to compare."),
      h("span", { class: "row" }, h("button", { class: "button quiet", type: "button", onclick: () => { chosen.clear(); drawBar(); mark(); } }, "Clear"),
        second ? h("button", { class: "button main", type: "button", onclick: () => sideBySide([first, second], context) }, "Compare") : null)) : null);
  }

  function mark() {
    for (const box of list.node.querySelectorAll("[name=compare]")) box.checked = chosen.has(box.value);
  }

  function choose(job, box) {
    if (!box.checked) chosen.delete(job.job_id);
    else if (chosen.size < 2) chosen.set(job.job_id, job);
    else { box.checked = false; toast("You can compare two images. Clear one first.", true); }
    drawBar();
  }

  const tile = (job) => h("li", { "data-key": job.job_id },
    h("button", { class: "open", type: "button", "aria-label": `Show: ${words(job).slice(0, 80)}`, onclick: () => lightbox(shown, shown.indexOf(job), context, () => list.load()) },
      image(job, context.base, 512)),
    h("label", { class: "pick" }, h("input", { type: "checkbox", name: "compare", value: job.job_id, checked: chosen.has(job.job_id), "aria-label": `Compare: ${words(job).slice(0, 80)}`, onchange: ({ target }) => choose(job, target) })),
    h("span", { class: "keep" }, star(job, context, filters.favourite ? () => list.load() : null)),
    h("span", { class: "small muted clip" }, words(job)));

  const list = listing({
    path: () => `${context.base}/jobs${query({ status: "done", ...filters })}`, context, size: 30,
    show: (rows) => { shown = rows; return h("ul", { class: "wall" }, rows.map(tile)); },
    note: indexNote,
    none: noneOf("gallery", () => filters, "images", empty("No images yet", "The images of all done jobs appear here.",
      context.canGenerate ? h("a", { class: "button", href: "#/playground" }, "Open the playground") : null)),
  });
  const set = (name, value) => { filters[name] = value; keepFilters("gallery", filters); list.restart(); };
  const change = ({ target }) => set(target.name, target.value);
  fill(main, head("Gallery", "All images, newest first. Retention never deletes favourites."),
    filterBar(() => filters, context.signal, search(filters.prompt, (text) => set("prompt", text)),
      field("Show", select("favourite", [["", "All images"], ["true", "Favourites"]], filters.favourite, change)),
      field("Model", select("tier", [["", "All"], ["fast", "fast"], ["quality", "quality"], ["pro", "pro"]], filters.tier, change)),
      field("Key", select("key", keys, filters.key, change)),
      days(["created_after", "created_before"], filters, set)),
    list.node, bar);
  await list.begin();
  return list.load;
}
