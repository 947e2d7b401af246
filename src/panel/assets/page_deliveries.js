// Deliveries with each attempt: what was sent where, and what came back.
import { field, fill, h } from "./dom.js";
import { get, post, query } from "./api.js";
import { badge, moment, shortId, time } from "./format.js";
import { head } from "./shell.js";
import { attempt, code, notice } from "./dialogs.js";
import { options, select } from "./filters.js";
import { empty, listing } from "./lists.js";

/** The headers and the body of an attempt, as they went out. */
function request(found) {
  if (!found) return h("p", { class: "small muted" }, "This attempt came to no request, or was made before requests were kept.");
  const lines = Object.entries(found.headers).map(([name, value]) => `${name}: ${value}`);
  const cut = found.is_whole ? "" : `\n… (${found.body_bytes} bytes in all)`;
  return code(`${lines.join("\n")}\n\n${found.body}${cut}`);
}

function outcome(it, at, sent) {
  const good = it.status_code >= 200 && it.status_code < 300;
  return h("li", { class: good ? "good" : "bad" },
    h("b", {}, it.status_code ? `HTTP ${it.status_code}` : "No answer"), ` after ${it.duration_ms} ms`,
    h("div", {}, h("time", { datetime: it.at, title: it.at }, moment(it.at))),
    it.error ? h("div", { class: "small wrap" }, it.error) : null,
    it.response_body ? [h("div", { class: "small muted" }, "Answered"), h("div", { class: "code" }, h("pre", { tabindex: "0" }, h("code", {}, it.response_body)))] : null,
    sent ? [h("div", { class: "small muted" }, "Sent"), request(sent[at])] : null);
}

/**
 * Deliveries of one page, which open to their attempts. `again` looks at the page again; `ready` is to be given the deliveries
 * before they are shown.
 */
export function unfolding(context, again, areOpen = false) {
  /** Which of them are open, for those that somebody has opened or closed. */
  const folds = new Map();
  /** What was sent, by delivery, for those that have been asked for. */
  const sent = new Map();
  const read = async (id) => { sent.set(id, (await get(`${context.base}/deliveries/${id}/sent`, context.signal)).data); };

  /** Attempts have been added since: what they sent is shown with the rest. */
  async function ready(deliveries) {
    const stale = deliveries.filter((it) => sent.has(it.delivery_id) && sent.get(it.delivery_id).length < it.attempts.length);
    await Promise.all(stale.map((it) => read(it.delivery_id)));
  }

  function show(it) {
    const id = it.delivery_id;
    const count = it.attempts.length;
    const shown = sent.get(id);
    const resend = () => attempt(() => post(`${context.base}/deliveries/${id}/redeliver`), "Sent again", again);
    const look = () => attempt(() => (shown ? sent.delete(id) : read(id)), null, again);
    const state = it.status === "pending" && count > 0 ? "retrying" : it.status;
    return h("details", { open: folds.get(id) ?? areOpen, "data-key": id,
      ontoggle: (event) => folds.set(id, event.target.open) },
    h("summary", {}, badge(state), h("span", { class: "grow mono" }, it.url),
      h("span", { class: "small muted" }, `${count} ${count === 1 ? "attempt" : "attempts"}`), h("span", { class: "small muted" }, time(it.created_at))),
    h("div", { class: "stack" },
      h("div", { class: "row wraps spread" },
        h("span", { class: "small muted" }, "job ", h("a", { href: `#/jobs/${it.job_id}` }, shortId(it.job_id)), " · webhook-id ", h("code", { class: "wrap" }, id),
          it.reason ? ` · ${it.reason}` : "", it.next_attempt_at ? [" · next attempt ", time(it.next_attempt_at)] : ""),
        h("span", { class: "row" }, count ? h("button", { class: "button slim", type: "button", "aria-expanded": String(Boolean(shown)), onclick: look }, shown ? "Hide what was sent" : "Show what was sent") : null,
          context.canChange ? h("button", { class: "button slim", type: "button", onclick: resend }, "Send again") : null)),
      count ? h("ol", { class: "timeline" }, it.attempts.map((tried, at) => outcome(tried, at, shown))) : h("p", { class: "muted" }, "The first attempt is about to be made.")));
  }

  return { ready, show };
}

/** The one that a link from elsewhere leads to, however old it is. */
function single(id, context) {
  const node = h("div", { class: "stack asked-for" });
  const again = context.fresh(() => draw());
  const { ready, show } = unfolding(context, again, true);
  async function draw() {
    let found;
    try {
      found = await get(`${context.base}/deliveries/${encodeURIComponent(id)}`, context.signal);
    } catch (error) {
      if (error.status !== 404) throw error;
      fill(node, notice("warn", "The delivery that the link leads to is no longer there."));
      return;
    }
    await ready([found]);
    fill(node, h("div", { class: "sheet" }, show(found)), h("h2", {}, "All deliveries"));
  }
  return { node, draw, again };
}

export async function deliveries(main, context) {
  const wanted = { status: context.search.get("status") ?? "", webhook_id: context.search.get("webhook_id") ?? "" };
  const asked = context.search.get("open");
  const one = asked ? single(asked, context) : null;
  const hooks = await options(`${context.base}/webhooks`, context.signal, (it) => [it.webhook_id, it.url.slice(0, 60)], wanted.webhook_id);
  const { ready, show } = unfolding(context, () => list.load());
  const list = listing({ path: () => `${context.base}/deliveries${query(wanted)}`, context, ready,
    show: (rows) => h("div", {}, rows.map(show)),
    none: empty("No deliveries here", "One is made for each webhook job that ends.") });
  const change = (event) => { wanted[event.target.name] = event.target.value; list.restart(); };
  fill(main, head("Deliveries", "What was sent to your webhooks. Up to 7 attempts over about 53 minutes; each is kept here."), one?.node ?? null,
    h("div", { class: "filters" },
      field("State", select("status", [["", "All"], ["pending", "Pending"], ["delivered", "Delivered"], ["failed", "Failed"]], wanted.status, change)),
      field("Webhook", select("webhook_id", hooks, wanted.webhook_id, change))),
    list.node);
  await Promise.all([one?.draw(), list.begin()]);
  return () => { one?.again(); list.load(); };
}
