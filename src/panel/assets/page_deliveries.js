// Deliveries with each attempt: what was sent where, and what came back.
import { field, fill, h } from "./dom.js";
import { get, post, query } from "./api.js";
import { badge, moment, shortId, time } from "./format.js";
import { head } from "./shell.js";
import { attempt, code } from "./dialogs.js";
import { empty, listing, select } from "./lists.js";

const opened = new Set();
/** What was sent, by delivery, for those that have been asked for. */
const sent = new Map();

/** The headers and the body of an attempt, as they went out. */
function request(found) {
  if (!found) return h("p", { class: "small muted" }, "This attempt came to no request, or was made before requests were kept.");
  const lines = Object.entries(found.headers).map(([name, value]) => `${name}: ${value}`);
  const cut = found.is_whole ? "" : `\n… (${found.body_bytes} bytes in all)`;
  return code(`${lines.join("\n")}\n\n${found.body}${cut}`);
}

function outcome(it, at, shown) {
  const good = it.status_code >= 200 && it.status_code < 300;
  return h("li", { class: good ? "good" : "bad" },
    h("b", {}, it.status_code ? `HTTP ${it.status_code}` : "No answer"), ` after ${it.duration_ms} ms`,
    h("div", {}, h("time", { datetime: it.at, title: it.at }, moment(it.at))),
    it.error ? h("div", { class: "small wrap" }, it.error) : null,
    it.response_body ? [h("div", { class: "small muted" }, "Answered"), h("div", { class: "code" }, h("pre", { tabindex: "0" }, h("code", {}, it.response_body)))] : null,
    shown ? [h("div", { class: "small muted" }, "Sent"), request(shown[at])] : null);
}

/** A delivery that opens to its attempts. */
export function delivery(it, context, reload, isOpen = false) {
  const again = () => attempt(async () => { await post(`${context.base}/deliveries/${it.delivery_id}/redeliver`); await reload(); }, "Sent again");
  const count = it.attempts.length;
  const shown = sent.get(it.delivery_id);
  const look = () => attempt(async () => {
    if (shown) sent.delete(it.delivery_id);
    else sent.set(it.delivery_id, (await get(`${context.base}/deliveries/${it.delivery_id}/sent`)).data);
    await reload();
  });
  const state = it.status === "pending" && count > 0 ? "retrying" : it.status;
  return h("details", { open: isOpen || opened.has(it.delivery_id), "data-delivery": it.delivery_id,
    ontoggle: (event) => opened[event.target.open ? "add" : "delete"](it.delivery_id) },
  h("summary", {}, badge(state), h("span", { class: "grow mono" }, it.url),
    h("span", { class: "small muted" }, `${count} ${count === 1 ? "attempt" : "attempts"}`), h("span", { class: "small muted" }, time(it.created_at))),
  h("div", { class: "stack" },
    h("div", { class: "row wraps spread" },
      h("span", { class: "small muted" }, "job ", h("a", { href: `#/jobs/${it.job_id}` }, shortId(it.job_id)), " · webhook-id ", h("code", { class: "wrap" }, it.delivery_id),
        it.reason ? ` · ${it.reason}` : "", it.next_attempt_at ? [" · next attempt ", time(it.next_attempt_at)] : ""),
      h("span", { class: "row" }, count ? h("button", { class: "button slim", type: "button", "aria-expanded": String(Boolean(shown)), onclick: look }, shown ? "Hide what was sent" : "Show what was sent") : null,
        context.canChange ? h("button", { class: "button slim", type: "button", onclick: again }, "Send again") : null)),
    count ? h("ol", { class: "timeline" }, it.attempts.map((tried, at) => outcome(tried, at, shown))) : h("p", { class: "muted" }, "The first attempt is about to be made.")));
}

export async function deliveries(main, context) {
  const wanted = { status: context.search.get("status") ?? "", webhook_id: context.search.get("webhook_id") ?? "" };
  if (context.search.get("open")) opened.add(context.search.get("open"));
  const hooks = await get(`${context.base}/webhooks?limit=100`, context.signal);
  const list = listing({ path: () => `${context.base}/deliveries${query(wanted)}`, signal: context.signal,
    show: (rows) => h("div", {}, rows.map((it) => delivery(it, context, list.load))),
    none: empty("No deliveries here", "One is made for each webhook job that ends.") });
  const change = (event) => { wanted[event.target.name] = event.target.value; list.restart(); };
  fill(main, head("Deliveries", "What was sent to your webhooks. Up to 7 attempts over about 53 minutes; each is kept here."),
    h("div", { class: "filters" },
      field("State", select("status", [["", "All"], ["pending", "Pending"], ["delivered", "Delivered"], ["failed", "Failed"]], wanted.status, change)),
      field("Webhook", select("webhook_id", [["", "All"], ...hooks.data.map((it) => [it.webhook_id, it.url.slice(0, 60)])], wanted.webhook_id, change))),
    list.node);
  await list.load();
  return list.load;
}
