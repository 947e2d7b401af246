// The queue page of the operator: waiting jobs with their estimated start.
import { field, fill, h } from "./dom.js";
import { get, query, remove } from "./api.js";
import { badge, count, duration, time } from "./format.js";
import { head } from "./shell.js";
import { dialog, toast } from "./dialogs.js";
import { filterBar, filtersOf, keepFilters, options, select } from "./filters.js";
import { empty, table } from "./lists.js";
import { cancelJob } from "./page_job.js";
import { pauseOf, switches } from "./pause.js";
import { repeat } from "./refresh.js";

/** Milliseconds between reloads: a queue that stands still causes no change event. */
const EVERY = 5_000;

const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
const waited = (since) => duration(since, new Date());

function figure({ model, queued, running, oldest_created_at: oldest }, pause) {
  const paused = pauseOf(pause, model);
  return h("div", { class: "card figure" },
    h("span", { class: "label" }, model, paused ? [" ", badge("paused")] : null), h("span", { class: "value" }, plural(queued, "job")),
    h("span", { class: "small muted" }, [`${count(running)} running`, oldest ? `the oldest has waited ${waited(oldest)}` : null].filter(Boolean).join(", ")),
    paused?.reason ? h("div", { class: "small wrap warn-text" }, paused.reason) : null);
}

export async function queue(main, context) {
  const filters = filtersOf(context.search, ["tier", "account_id"]);
  const cards = h("div", { class: "cards" });
  const list = h("div", { class: "stack tight" });
  const pauses = h("div", { class: "aside" });
  const accounts = await options("/accounts", context.signal, (it) => [it.account_id, it.name.slice(0, 40)], filters.account_id);
  const reload = context.reloader(() => draw());

  const columns = [
    { title: "Position", kind: "num fit", cell: (job) => String(job.queue_position ?? "–") },
    { title: "Prompt", kind: "rest", cell: (job) => h("button", { class: "link", type: "button", onclick: () => context.visit(job.account_id, `#/jobs/${job.job_id}`) }, h("span", { class: "clip" }, job.prompt ?? "A long prompt")) },
    { title: "Account", kind: "fit", cell: (job) => h("span", { class: "clip short" }, job.account_name ?? "deleted") },
    { title: "Model", kind: "fit", cell: (job) => `${job.tier} · ${job.resolution}` },
    { title: "Waits", kind: "num fit", cell: (job) => h("span", { title: job.created_at }, waited(job.created_at)) },
    { title: "Estimated start", kind: "fit", cell: (job) => (job.estimated_start_at ? time(job.estimated_start_at) : "–") },
    { title: "", kind: "fit", cell: (job) => h("button", { class: "button slim", type: "button", "aria-label": `Cancel the job at position ${job.queue_position} of ${job.tier}`, onclick: () => cancel(job) }, "Cancel") },
  ];

  /** Asks before it cancels, because rows move under the pointer while jobs start. Then focuses the button that is now in the place of the row. */
  async function cancel(job) {
    const rows = () => [...list.querySelectorAll("tbody tr")];
    const place = rows().findIndex((row) => row.dataset.key === job.job_id);
    if (!(await cancelJob(job, `/accounts/${job.account_id}`, job.account_name))) return;
    await reload();
    const row = rows()[place] ?? rows().at(-1);
    (row?.querySelector("button:not(.link)") ?? main.closest("main")).focus({ preventScroll: true });
  }

  /** Cancels the counted jobs. Jobs that arrive after the confirmation stay. */
  function cancelAll(number) {
    const before = new Date().toISOString();
    const whose = accounts.find(([id]) => id && id === filters.account_id)?.[1];
    const which = [filters.tier ? `of the model ${filters.tier}` : "of all models", whose ? `of ${whose}` : "of all accounts"].join(", ");
    return dialog({ title: `Cancel ${plural(number, "queued job")}?`, text: `This cancels the jobs waiting now, ${which}. Their reservations are released, and their webhooks are called.`,
      confirm: `Cancel ${plural(number, "job")}`, dismiss: "Keep them", danger: true,
      submit: async () => {
        let canceled = 0, part;
        do {
          part = await remove(`/queue${query({ ...filters, created_before: before })}`);
          canceled += part.canceled;
        } while (part.more && part.canceled);
        toast(`${plural(canceled, "job")} canceled`);
      } }).then(reload);
  }

  async function draw() {
    const [found, pause] = await Promise.all([get(`/queue${query(filters)}`, context.signal), get("/pause", context.signal)]);
    const { data, count: waiting, models, shown_of_each: most } = found;
    fill(cards, models.map((it) => figure(it, pause)));
    fill(list,
      h("div", { class: "row wraps spread" }, h("h2", {}, `${plural(waiting, "job")} waiting`),
        waiting ? h("button", { class: "button danger", type: "button", onclick: () => cancelAll(waiting) }, `Cancel all ${count(waiting)}`) : null),
      h("div", { class: "sheet" }, data.length ? h("div", { class: "scroll" }, table(columns, data, "Queued jobs", (it) => it.job_id)) : empty("No jobs waiting", "Every accepted job has started.")),
      data.length < waiting ? h("p", { class: "small muted" }, `The next ${most} of each model are listed.`) : null);
    fill(pauses, switches(pause, reload));
  }

  const change = ({ target }) => { filters[target.name] = target.value; keepFilters("queue", filters); reload(); };
  fill(main, head("Queue", "Waiting jobs in their expected order. Accounts take turns."),
    h("div", { class: "stack" }, cards,
      h("div", { class: "with-aside" },
        h("div", { class: "stack" },
          filterBar(() => filters, context.signal,
            field("Model", select("tier", [["", "All"], ["fast", "fast"], ["quality", "quality"], ["pro", "pro"]], filters.tier, change)),
            field("Account", select("account_id", accounts, filters.account_id, change))), list),
        pauses)));
  repeat(EVERY, reload, context.signal);
  await draw();
  return reload;
}
