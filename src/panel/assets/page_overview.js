// The first page: money, jobs, deliveries and the last two weeks.
import { fill, h } from "./dom.js";
import { get } from "./api.js";
import { badge, money, unit } from "./format.js";
import { bars } from "./charts.js";
import { head } from "./shell.js";
import { notice } from "./dialogs.js";
import { empty } from "./lists.js";
import { tile } from "./page_jobs.js";

const figure = (label, value, note) => h("div", { class: "card figure" },
  h("span", { class: "label" }, label), h("span", { class: "value" }, value), note ? h("span", { class: "small muted" }, note) : null);

function notices(view) {
  const { paused, money: funds, webhooks } = view;
  return [
    paused.project ? notice("warn", "The service is paused. New requests are answered with 503; queued jobs wait.")
      : paused.tiers.length ? notice("warn", `Paused: ${paused.tiers.join(", ")}. New requests for it are answered with 503; queued jobs wait.`) : null,
    funds.low ? notice("warn", `The balance is low: ${money(funds.available)} is enough for fewer than ten of the dearest pictures.`) : null,
    webhooks.failed ? notice("bad", h("a", { href: "#/deliveries?status=failed" }, `${webhooks.failed} ${webhooks.failed === 1 ? "delivery has" : "deliveries have"} failed`), " for good. Look at what the receiver answered, then send again.") : null,
  ];
}

function spend(days) {
  const sum = days.reduce((total, it) => total + Number(it.spent), 0);
  return h("section", { class: "card" }, h("div", { class: "row spread" }, h("h2", {}, "Spend per day"), h("span", { class: "muted small" }, unit())),
    bars(days, [{ of: (it) => Number(it.spent), class: "bar-good" }], (it) => money(it.spent), `Spend per day over two weeks, about ${sum.toFixed(2)} ${unit()} in all`));
}

function finished(days) {
  const done = days.reduce((total, it) => total + it.done, 0);
  const failed = days.reduce((total, it) => total + it.failed, 0);
  return h("section", { class: "card" }, h("div", { class: "row spread" }, h("h2", {}, "Pictures per day"),
    h("div", { class: "legend-row" }, h("span", {}, "done"), h("span", { class: "bad" }, "failed"))),
  bars(days, [{ of: (it) => it.done, class: "bar-good" }, { of: (it) => it.failed, class: "bar-bad" }],
    (it) => `${it.done} done, ${it.failed} failed`, `Pictures per day over two weeks: ${done} done, ${failed} failed`, true));
}

export const backends = (list) => h("ul", { class: "stack tight" }, list.map((it) => h("li", { class: "row spread" },
  h("span", { class: "wrap" }, it.name),
  h("span", { class: "row" }, h("span", { class: "small muted nowrap" }, `${it.running} of ${it.places} busy`), badge(it.health)))));

export async function overview(main, context) {
  const draw = async () => {
    const [view, jobs] = await Promise.all([
      get(`${context.base}/overview`, context.signal), get(`${context.base}/jobs?limit=10`, context.signal)]);
    const { money: funds, jobs: live, queue, webhooks, days, service } = view;
    const todays = days[days.length - 1];
    fill(main, head("Overview", null,
      context.canChange ? h("a", { class: "button main", href: "#/playground" }, "Make a picture") : null),
    h("div", { class: "stack" }, notices(view),
      h("div", { class: "cards" },
        figure("Available", [funds.available, h("small", {}, ` ${unit()}`)], `${funds.balance} balance, ${funds.reserved} reserved`),
        figure("Waiting", String(live.queued), `${queue.waiting} in the whole queue`),
        figure("In the making", String(live.processing), `${todays.done} done today, ${todays.failed} failed`),
        figure("Deliveries pending", String(webhooks.pending), webhooks.registered ? `${webhooks.retrying} being retried` : "no webhook is registered")),
      h("div", { class: "halves" }, finished(days), spend(days)),
      service ? h("section", { class: "card" }, h("h2", {}, "Back ends"), backends(service.backends)) : null,
      h("section", { class: "card" },
        h("div", { class: "row spread" }, h("h2", {}, "Latest"), h("a", { href: "#/jobs" }, "All jobs")),
        jobs.data.length ? h("div", { class: "gallery" }, jobs.data.map((it) => tile(it, context)))
          : empty("No pictures yet", "Make one in the playground, or with an API key."))));
  };
  await draw();
  return draw;
}
