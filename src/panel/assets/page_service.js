// The service page of the operator: pauses, queues, backends, settings.
import { fill, h } from "./dom.js";
import { get } from "./api.js";
import { head } from "./shell.js";
import { code } from "./dialogs.js";
import { backends, diskNotice } from "./backends.js";
import { operatorWebhook, operatorWebhookNotice } from "./operator_webhook.js";
import { connectHelp } from "./demo.js";
import { count, figure, time } from "./format.js";
import { empty, listing, table } from "./lists.js";
import { switches } from "./pause.js";
import { chargedPrice, jobBadge, jobPrice, thumbnail, tile, whyFailed } from "./page_jobs.js";
import { repeat } from "./refresh.js";

/** Milliseconds between reloads: the health of an idle backend and the counts of the last hour change without an event. */
const EVERY = 5_000;

const TIERS = ["fast", "quality", "pro"];

function allJobs(context) {
  const base = (job) => `/accounts/${job.account_id}`;
  const open = (job) => () => context.visit(job.account_id, `#/jobs/${job.job_id}`);
  const columns = [
    { title: "Prompt", kind: "rest", cell: (job) => h("span", { class: "row" }, thumbnail(job, base(job)),
      h("span", { class: "named" }, h("button", { class: "link", type: "button", onclick: open(job) }, h("span", { class: "clip" }, job.prompt ?? "A long prompt")), whyFailed(job))) },
    { title: "Account", kind: "fit", cell: (job) => h("button", { class: "link", type: "button", onclick: () => context.visit(job.account_id, "#/overview") }, h("span", { class: "clip short" }, job.account_name ?? "deleted")) },
    { title: "State", kind: "fit", cell: jobBadge },
    { title: "Model", kind: "fit", cell: (job) => `${job.tier} · ${job.resolution}` },
    { title: "Price", kind: "num fit", amount: chargedPrice, cell: jobPrice },
    { title: "Created", kind: "fit", cell: (job) => time(job.created_at) },
  ];
  return listing({ path: "/jobs", size: 10, context, show: (rows) => table(columns, rows, "Jobs of all accounts", (it) => it.job_id),
    tile: (job) => tile(job, base(job), open(job)), none: empty("No jobs yet", "The jobs of all accounts appear here.") });
}

/** Whether the service has run for less than the displayed hour. */
const isYoung = (since) => Date.now() - new Date(since) < 3_590_000;

export async function service(main, context) {
  const jobs = allJobs(context);
  const top = h("div", { class: "stack" });
  const tests = new Map();
  // One element for all redraws, so that it stays open or closed.
  const help = connectHelp(context.session);
  const settings = await get("/settings", context.signal);
  const reload = context.reloader(() => draw());
  const draw = async () => {
    const [stats, pause, hook] = await Promise.all([get("/stats", context.signal), get("/pause", context.signal), get("/operator-webhook", context.signal)]);
    const waiting = TIERS.map((tier) => stats.queued[tier]).reduce((sum, it) => sum + it, 0);
    fill(top, diskNotice(stats), operatorWebhookNotice(hook),
      h("div", { class: "cards" },
        figure("Queued", count(waiting), TIERS.map((tier) => `${tier} ${count(stats.queued[tier])}`).join(", ")),
        figure("Running", count(stats.running), `${count(stats.live_jobs)} live jobs in total`),
        figure(isYoung(stats.throughput.since) ? "Done since the start" : "Done in the last hour", count(stats.throughput.done), `${count(stats.throughput.failed - stats.throughput.canceled)} failed, ${count(stats.throughput.canceled)} canceled`),
        figure("Deliveries pending", count(stats.webhooks_pending))),
      h("p", { class: "small muted" }, "Last backup of the records while the service was running: ", stats.last_export_at ? time(stats.last_export_at) : "none"),
      h("div", { class: "halves" }, switches(pause, reload), h("section", { class: "card stack" }, h("h2", {}, "Backends"), backends(stats.backends, tests, reload), help)),
      operatorWebhook(hook, reload));
  };
  fill(main, head("Service", "Status of the service, and pauses."),
    h("div", { class: "stack" }, top, h("h2", {}, "Jobs of all accounts"), jobs.node, h("section", { class: "card stack" }, h("h2", {}, "Effective settings"), h("p", { class: "muted small" }, "From config.toml, the environment and the command line. Secrets are masked."), code(settings.toml, true))));
  repeat(EVERY, reload, context.signal);
  await Promise.all([draw(), jobs.begin()]);
  return () => { reload(); jobs.load(); };
}
