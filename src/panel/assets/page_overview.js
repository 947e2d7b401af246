// The overview: balance, jobs, deliveries and charts.
import { fill, h } from "./dom.js";
import { get, query } from "./api.js";
import { count, figure, figureNumber, grouped, money, unit } from "./format.js";
import { backends, diskNotice } from "./backends.js";
import { finished, firstSpan, reach, spans, spend } from "./charts.js";
import { head } from "./shell.js";
import { notice } from "./dialogs.js";
import { addFunds } from "./funds.js";
import { empty } from "./lists.js";
import { accountLimits } from "./limits.js";
import { demoNotice } from "./demo.js";
import { operatorWebhookNotice } from "./operator_webhook.js";
import { checklist } from "./checklist.js";
import { tile } from "./page_jobs.js";

const because = (reason) => (reason ? ` (${reason})` : "");

/** With very many deliveries, only the newest are counted. */
function failed({ failed: number, all }) {
  if (all === false) return `${count(number)} of the newest 1,000 deliveries ${number === 1 ? "has" : "have"} failed`;
  return `${count(number)} ${number === 1 ? "delivery has" : "deliveries have"} failed`;
}

/** Only the operator can add funds. */
function lowBalance(view, { session, account }, deposit) {
  const { money: balances } = view;
  if (!balances.below && !balances.low) return null;
  const low = balances.below ? `The balance is low: less than ${money(balances.below)} is available.` : `The balance is low: ${money(balances.available)} is enough for fewer than 10 images at the highest price.`;
  if (session.kind !== "operator") return notice("warn", `${low} Ask the operator to add funds, so that new jobs are accepted.`);
  const add = () => deposit({ account_id: account.id, name: account.name, balance: balances.balance });
  return notice("warn", h("div", { class: "row wraps spread" }, h("span", {}, low), h("button", { class: "button slim", type: "button", onclick: add }, "Add funds")));
}

function notices(view, context, deposit) {
  const { paused, webhooks } = view;
  const tiers = paused.tiers.map((it) => it.id + because(it.reason)).join(", ");
  return [
    paused.project ? notice("warn", `The service is paused${because(paused.reason)}. New requests are rejected with 503. Queued jobs wait.`)
      : tiers ? notice("warn", `Paused: ${tiers}. New requests for it are rejected with 503. Queued jobs wait.`) : null,
    lowBalance(view, context, deposit),
    webhooks.failed ? notice("bad", h("a", { href: "#/deliveries?status=failed" }, failed(webhooks)), " after all attempts. Check the response of the receiver, then resend them.") : null,
  ];
}

export async function overview(main, context) {
  let span = null;
  let hasImage = false;
  const reload = context.reloader(() => draw());
  const deposit = (account) => addFunds(account).then(reload);
  const draw = async () => {
    const [view, jobs, hook] = await Promise.all([
      get(`${context.base}/overview${query({ days: span ?? 1 })}`, context.signal), get(`${context.base}/jobs?limit=12`, context.signal),
      context.session.kind === "operator" ? get("/operator-webhook", context.signal) : null]);
    if (span === null) {
      span = firstSpan(view.created_at, 14);
      if (span !== 1) return draw();
    }
    // Newer jobs may all have failed.
    hasImage ||= jobs.data.some((it) => it.status === "done") || (await get(`${context.base}/jobs?status=done&limit=1`, context.signal)).data.length > 0;
    const { money: balances, jobs: live, queue, webhooks, days, service, today: todays } = view;
    return fill(main, head("Overview", null,
      context.canGenerate ? h("a", { class: "button main", href: "#/playground" }, "Generate an image") : null),
    h("div", { class: "stack" }, service ? diskNotice(service) : null, notices(view, context, deposit), hook ? operatorWebhookNotice(hook, true) : null, demoNotice(context),
      checklist(context, { images: hasImage, keys: view.keys > 0, webhooks: webhooks.registered > 0, people: view.has_people, backup: view.backup?.taken }, reload),
      h("div", { class: "cards" },
        figure("Available", [figureNumber(grouped(balances.available)), h("small", {}, ` ${unit()}`)], `${grouped(balances.balance)} balance, ${grouped(balances.reserved)} reserved`),
        figure("Queued", count(live.queued), `${count(queue.waiting)} in the whole queue`),
        figure("Running", count(live.processing), `${count(todays.done)} done today, ${count(todays.failed)} failed`),
        figure("Deliveries pending", `${count(webhooks.pending)}${webhooks.all === false ? "+" : ""}`,
          webhooks.registered ? `${webhooks.retrying} being retried${webhooks.all === false ? ", of the newest 1,000" : ""}` : "no webhook registered")),
      h("div", { class: "stack tight" }, h("div", { class: "row end" }, spans(view.created_at, span, (chosen) => { span = chosen; reload(); })),
        h("div", { class: "halves" }, finished(days), spend(days)), reach(view)),
      view.limits ? accountLimits(view.limits) : null,
      service ? h("section", { class: "card" }, h("h2", {}, "Backends"), backends(service.backends)) : null,
      h("section", { class: "card" },
        h("div", { class: "row spread" }, h("h2", {}, "Latest"), h("a", { href: "#/jobs" }, "All jobs")),
        jobs.data.length ? h("div", { class: "gallery" }, jobs.data.map((it) => tile(it, context.base)))
          : empty("No images yet", "Generate one in the playground, or with an API key."))));
  };
  await draw();
  return reload;
}
