// One batch: progress, jobs, downloads and delivery.
import { field, fill, h } from "./dom.js";
import { callPath, get, query, remove } from "./api.js";
import { duration, grouped, moment, money } from "./format.js";
import { head } from "./shell.js";
import { code, copyable, dialog } from "./dialogs.js";
import { filterBar, filtersOf, keepFilters, noneOf, select } from "./filters.js";
import { empty, listing, table } from "./lists.js";
import { deliveryList } from "./page_deliveries.js";
import { batchBadge, meter, wasCanceled } from "./batch_progress.js";
import { metadataOf, pairs } from "./page_job.js";
import { chargedPrice, jobBadge, jobPrice, thumbnail, tile, whyFailed } from "./page_jobs.js";

function batchPrice({ price, charged, ended_at }) {
  if (!ended_at) return `${money(price)} at most, ${money(charged)} charged so far: a failed image is not charged`;
  return charged === price ? `${money(price)} charged` : `${money(charged)} charged of ${grouped(price)}, the rest was released`;
}

const columns = (context) => [
  { title: "Request", kind: "rest", cell: (job) => h("span", { class: "row" }, thumbnail(job, context.base),
    h("span", { class: "named" }, h("a", { class: "prompt clip", href: `#/jobs/${job.job_id}` }, job.custom_id),
      h("span", { class: "small muted clip" }, job.prompt ?? "A long prompt"),
      whyFailed(job))) },
  { title: "State", kind: "fit", cell: jobBadge },
  { title: "Model", kind: "fit", cell: (job) => `${job.tier} · ${job.resolution} · ${job.ratio}` },
  { title: "Price", kind: "num fit", amount: chargedPrice, cell: jobPrice },
];

export async function batch(main, context) {
  const id = encodeURIComponent(context.rest[0]);
  const path = `${context.base}/batches/${id}`;
  const filters = filtersOf(context.search, ["status"]);
  const top = h("div", { class: "stack" });
  const delivery = h("div", { class: "stack" });
  const reload = context.reloader(() => draw());
  const { ready, show } = deliveryList(context, reload, true);
  const list = listing({
    path: () => `${path}/jobs${query(filters)}`, context,
    show: (rows) => table(columns(context), rows, "Requests", (it) => it.job_id),
    tile: (job) => tile(job, context.base),
    none: noneOf(`batches/${id}`, () => filters, "requests", empty("No requests", "")),
  });
  const choose = (value) => { filters.status = value; keepFilters(`batches/${id}`, filters); list.restart(); };
  const state = select("status", [["", "All"], ["queued", "Queued"], ["processing", "Processing"], ["done", "Done"], ["failed", "Failed"]], filters.status, ({ target }) => choose(target.value));

  const cancel = (found) => dialog({ title: "Cancel this batch?", confirm: "Cancel batch", dismiss: "Keep batch", danger: true, success: "Canceled",
    text: `${found.counts.queued} queued ${found.counts.queued === 1 ? "request is" : "requests are"} canceled, and their price is released. Images that are being generated are finished and charged.`,
    submit: () => remove(path) }).then((canceled) => { if (canceled) { reload(); list.load(); } });

  function actions(found) {
    const { counts, status } = found;
    const own = callPath(path);
    return [
      counts.done ? h("a", { class: "button", href: `${own}/pictures`, download: true }, "Download images") : null,
      h("a", { class: "button", href: `${own}/results`, download: true }, "Download results"),
      counts.failed && context.canGenerate ? h("a", { class: "button", href: `#/batches?again=${id}` }, wasCanceled(found) ? "Retry remaining requests" : "Retry failed requests") : null,
      (status === "in_progress" || counts.queued) && context.canChange ? h("button", { class: "button danger", type: "button", onclick: () => cancel(found) }, "Cancel") : null,
    ];
  }

  function failures(found) {
    const { failed } = found.counts;
    if (!failed) return null;
    const canceled = wasCanceled(found);
    const showFailed = () => { state.value = "failed"; choose("failed"); state.focus(); };
    return h("div", { class: "row wraps" },
      h("button", { class: "button slim", type: "button", onclick: showFailed }, canceled ? `Show the ${failed} that are not done` : `Show why ${failed} failed`),
      h("a", { class: "button slim", href: callPath(`${path}/failed`), download: true }, canceled ? "Download these requests" : "Download failed requests"));
  }

  async function draw() {
    const found = await get(path, context.signal);
    if (found.delivery) await ready([found.delivery]);
    fill(top, head(h("span", { class: "row wraps" }, "Batch", batchBadge(found)), copyable(found.batch_id, "the batch id"), ...actions(found)),
      h("section", { class: "card stack" }, meter(found), failures(found),
        pairs(["Price", batchPrice(found)],
          ["Created", moment(found.created_at)],
          ["Ended", found.ended_at ? `${moment(found.ended_at)}, after ${duration(found.created_at, found.ended_at)}` : null],
          ["Metadata", found.metadata ? code(metadataOf(found)) : null])));
    fill(delivery, h("h2", {}, "Delivery"), found.delivery ? h("div", { class: "sheet" }, show(found.delivery))
      : h("p", { class: "muted" }, found.ended_at ? "No webhook was called: none was registered when the batch ended." : "The webhook is called once, when the batch has ended."));
  }

  await draw();
  fill(main, h("div", { class: "stack" }, top, h("section", { class: "stack tight" }, h("h2", {}, "Requests"), filterBar(() => filters, context.signal, field("State", state)), list.node),
    h("section", { class: "stack after" }, delivery)));
  await list.begin();
  return () => { reload(); list.load(); };
}
