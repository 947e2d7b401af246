// The jobs of the account.
import { field, fill, h, fieldError, sentence, showFaults } from "./dom.js";
import { query } from "./api.js";
import { badge, money, time } from "./format.js";
import { head } from "./shell.js";
import { days, filterBar, filtersOf, indexNote, keepFilters, noneOf, options, search, select } from "./filters.js";
import { empty, listing, table } from "./lists.js";
import { icon } from "./icons.js";
import { image } from "./image.js";

export const thumbnail = (job, base) => (job.status === "done" ? image(job, base, 256, { class: "thumb" }) : h("span", { class: "thumb" }, icon("jobs")));

/** A failed job costs nothing. */
export const chargedPrice = (job) => (job.status === "failed" ? null : job.price);
export const jobPrice = (job, digits) => (job.status === "failed" ? h("span", { class: "muted", title: `${money(job.price)} released` }, "not charged") : money(job.price, digits));

/** As the API names this reason. */
export const isCanceled = (job) => job.error === "canceled";
export const jobBadge = (job) => badge(isCanceled(job) ? "canceled" : job.status);

/** The reason of a failed job in a list. */
export const whyFailed = (job) => (job.error && !isCanceled(job) ? h("span", { class: "small bad-text wrap" }, sentence(job.error)) : null);

/** A job in a grid of images: a link to its page, or a button that calls `open`. */
export function tile(job, base, open) {
  const words = job.prompt ?? "A long prompt";
  const named = { "data-key": job.job_id, title: words, "aria-label": job.status === "done" ? `done: ${words.slice(0, 80)}` : null };
  const content = job.status === "done" ? image(job, base, 512) : [h("span", { class: "words" }, words), " ", jobBadge(job)];
  return open ? h("button", { ...named, type: "button", onclick: open }, content) : h("a", { ...named, href: `#/jobs/${job.job_id}` }, content);
}

const columns = (context) => [
  { title: "Prompt", kind: "rest", cell: (job) => h("span", { class: "row" },
    thumbnail(job, context.base),
    h("span", { class: "named" }, h("a", { class: "prompt clip", href: `#/jobs/${job.job_id}` }, job.prompt ?? "A long prompt"), whyFailed(job))) },
  { title: "State", kind: "fit", cell: jobBadge },
  { title: "Model", kind: "fit", cell: (job) => `${job.tier} · ${job.resolution} · ${job.ratio}` },
  { title: "Price", kind: "num fit", amount: chargedPrice, cell: jobPrice },
  { title: "Created", kind: "fit", cell: (job) => time(job.created_at) },
];

/** Limit of the API. */
const MOST_MEMBERS = 10;

/** The metadata filter: entered as name=value, shown as removable tags. */
function metadata(members, changed) {
  const shown = h("span", { class: "row wraps" });
  const draw = () => fill(shown, members.map(([name, value], at) => h("span", { class: "badge plain" }, h("span", { class: "clip" }, `${name}=${value}`),
    h("button", { class: "away", type: "button", "aria-label": `Remove ${name}=${value}`, onclick: () => { members.splice(at, 1); draw(); changed(); } }, icon("close", 12)))));
  const refuse = (message) => showFaults(typed, message ? fieldError("metadata", message) : null);
  const add = () => {
    const text = control.value.trim();
    const at = text.indexOf("=");
    refuse(null);
    if (!text) return;
    const name = text.slice(0, at).trim();
    if (at < 1 || !name) { refuse("Enter a name and a value, such as order=4711."); return; }
    const others = members.filter((it) => it[0] !== name);
    if (others.length === MOST_MEMBERS) { refuse(`The limit is ${MOST_MEMBERS}. Remove one first.`); return; }
    members.splice(0, members.length, ...others, [name, text.slice(at + 1).trim()]);
    control.value = "";
    draw();
    changed();
  };
  const control = h("input", { name: "metadata", placeholder: "order=4711", autocomplete: "off",
    onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); add(); } }, onchange: add });
  const typed = h("div", { class: "field" }, field("Metadata", control));
  draw();
  return [typed, shown];
}

export async function jobs(main, context) {
  const wanted = filtersOf(context.search, ["prompt", "status", "tier", "key", "created_after", "created_before"]);
  const keys = await options(`${context.base}/keys`, context.signal, (it) => [it.key_id, it.name.slice(0, 40)], wanted.key);
  const members = [...context.search].flatMap(([name, value]) => { const inner = name.match(/^metadata\[(.+)\]$/); return inner ? [[inner[1], value]] : []; });
  const filters = () => ({ ...wanted, ...Object.fromEntries(members.map(([name, value]) => [`metadata[${name}]`, value])) });
  const list = listing({
    path: () => `${context.base}/jobs${query(filters())}`,
    context,
    show: (rows) => table(columns(context), rows, "Jobs", (it) => it.job_id),
    tile: (job) => tile(job, context.base),
    note: indexNote,
    none: noneOf("jobs", filters, "jobs", empty("No jobs yet", "Each requested image is a job.",
      context.canGenerate ? h("a", { class: "button", href: "#/playground" }, "Open the playground") : null)),
  });
  const changed = () => { keepFilters("jobs", filters()); list.restart(); };
  const set = (name, value) => { wanted[name] = value; changed(); };
  const change = ({ target }) => set(target.name, target.value);
  const [typed, chosen] = metadata(members, changed);
  fill(main, head("Jobs", "All requests with their results, newest first."),
    filterBar(filters, context.signal, search(wanted.prompt, (text) => set("prompt", text)),
      field("State", select("status", [["", "All"], ["queued", "Queued"], ["processing", "Processing"], ["done", "Done"], ["failed", "Failed"]], wanted.status, change)),
      field("Model", select("tier", [["", "All"], ["fast", "fast"], ["quality", "quality"], ["pro", "pro"]], wanted.tier, change)),
      field("Key", select("key", keys, wanted.key, change)),
      days(["created_after", "created_before"], wanted, set), typed, chosen),
    list.node);
  await list.begin();
  return list.load;
}
