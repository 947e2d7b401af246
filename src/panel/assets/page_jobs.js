// All jobs of the account.
import { field, fill, h } from "./dom.js";
import { get, query } from "./api.js";
import { badge, money, time } from "./format.js";
import { head } from "./shell.js";
import { empty, listing, table } from "./lists.js";
import { icon } from "./icons.js";

const small = (job, context) => `/panel/api${context.base}/jobs/${job.job_id}/thumbnail`;

/** An image that steps aside when it is gone. */
function picture(job, context, props) {
  return h("img", { ...props, src: small(job, context), alt: "", loading: "lazy", decoding: "async",
    onerror: (event) => event.target.replaceWith(h("span", { class: "thumb" }, icon("jobs"))) });
}

/** A job in the gallery. */
export function tile(job, context) {
  const words = job.prompt ?? "A long prompt";
  return h("a", { href: `#/jobs/${job.job_id}`, "aria-label": `${job.status}: ${words.slice(0, 80)}` },
    job.status === "done" ? picture(job, context) : [h("span", { class: "words" }, words), badge(job.status)]);
}

const columns = (context) => [
  { title: "Prompt", cell: (job) => h("span", { class: "row" },
    job.status === "done" ? picture(job, context, { class: "thumb" }) : h("span", { class: "thumb" }, icon("jobs")),
    h("a", { class: "prompt clip", href: `#/jobs/${job.job_id}` }, job.prompt ?? "A long prompt")) },
  { title: "State", kind: "fit", cell: (job) => badge(job.status) },
  { title: "Model", kind: "fit", cell: (job) => `${job.tier} · ${job.resolution} · ${job.ratio}` },
  { title: "Price", kind: "num fit", cell: (job) => money(job.price) },
  { title: "Created", kind: "fit", cell: (job) => time(job.created_at) },
];

const select = (name, options, value, change) => h("select", { name, onchange: change },
  options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));

export async function jobs(main, context) {
  const known = await get(`${context.base}/keys?limit=100`, context.signal);
  const wanted = { status: context.search.get("status") ?? "", tier: context.search.get("tier") ?? "", from: "", key_id: context.search.get("key_id") ?? "" };
  const list = listing({
    path: () => `${context.base}/jobs${query(wanted)}`, signal: context.signal,
    show: (rows) => table(columns(context), rows, "Jobs"),
    none: empty("No jobs here", "Nothing matches, or nothing has been asked for yet.",
      context.canChange ? h("a", { class: "button", href: "#/playground" }, "Open the playground") : null),
  });
  const change = (event) => {
    const { name, value } = event.target;
    wanted[name] = name === "from" && value ? new Date(`${value}T00:00:00`).toISOString() : value;
    list.restart();
  };
  fill(main, head("Jobs", "Every request and what became of it, newest first."),
    h("div", { class: "filters" },
      field("State", select("status", [["", "All"], ["queued", "Queued"], ["processing", "Processing"], ["done", "Done"], ["failed", "Failed"]], wanted.status, change)),
      field("Model", select("tier", [["", "All"], ["fast", "fast"], ["quality", "quality"], ["pro", "pro"]], wanted.tier, change)),
      field("Key", select("key_id", [["", "All"], ...known.data.map((it) => [it.key_id, it.name.slice(0, 40)])], wanted.key_id, change)),
      field("Since", h("input", { type: "date", name: "from", onchange: change }))),
    list.node);
  await list.load();
  return list.load;
}
