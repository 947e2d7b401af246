// Webhook deliveries with their attempts.
import { field, fill, h } from "./dom.js";
import { get, post, query } from "./api.js";
import { badge, moment, shortId, time } from "./format.js";
import { head } from "./shell.js";
import { attempt, code, copyable, notice } from "./dialogs.js";
import { filterBar, filtersOf, keepFilters, noneOf, options, select } from "./filters.js";
import { empty, listing } from "./lists.js";
import { redeliver } from "./redeliver.js";

function request(found) {
  if (!found) return h("p", { class: "small muted" }, "No request was sent, or the attempt was made before requests were stored.");
  const lines = Object.entries(found.headers).map(([name, value]) => `${name}: ${value}`);
  const cut = found.is_whole ? "" : `\n… (${found.body_bytes} bytes in total)`;
  return code(`${lines.join("\n")}\n\n${found.body}${cut}`);
}

function outcome(it, at, requests) {
  const good = it.status_code >= 200 && it.status_code < 300;
  return h("li", { class: good ? "good" : "bad" },
    h("b", {}, it.status_code ? `HTTP ${it.status_code}` : "No response"), ` after ${it.duration_ms} ms`,
    h("div", {}, h("time", { datetime: it.at, title: it.at }, moment(it.at))),
    it.error ? h("div", { class: "small wrap" }, it.error) : null,
    it.response_body ? [h("div", { class: "small muted" }, "Response"), h("div", { class: "code" }, h("pre", { tabindex: "0" }, h("code", {}, it.response_body)))] : null,
    requests ? [h("div", { class: "small muted" }, "Request"), request(requests[at])] : null);
}

/** The subject of a delivery; `show` renders the id of a job or batch, given the name of its page. */
function subject(it, show) {
  if (it.kind === "batch") return ["batch ", show(it.batch_id, "batches")];
  if (it.kind === "operator") return "event for the operator";
  return it.kind === "test" ? "test delivery" : ["job ", show(it.job_id, "jobs")];
}

/** As the API names this reason. */
const DELETED = "webhook deleted";

function last({ attempts }) {
  const tried = attempts[attempts.length - 1];
  return tried ? (tried.status_code ? `HTTP ${tried.status_code}` : "no response") : null;
}

/**
 * A list of deliveries that unfold to their attempts. `reload` reloads the page. Call `ready` with the deliveries before `show`.
 */
export function deliveryList(context, reload, areOpen = false) {
  /** Whether the user opened or closed a delivery. */
  const folds = new Map();
  /** The loaded requests by delivery id. */
  const requests = new Map();
  /** The ids of the registered webhooks. */
  let webhooks = new Set();
  const read = async (id) => { requests.set(id, (await get(`${context.base}/deliveries/${id}/sent`, context.signal)).data); };

  /** Loads the requests of new attempts, and which webhooks exist: without one, nothing can be sent again. */
  async function ready(deliveries) {
    if (!deliveries.length) return;
    const stale = deliveries.filter((it) => requests.has(it.delivery_id) && requests.get(it.delivery_id).length < it.attempts.length);
    const [registered] = await Promise.all([options(`${context.base}/webhooks`, context.signal, (it) => [it.webhook_id]), ...stale.map((it) => read(it.delivery_id))]);
    webhooks = new Set(registered.map(([webhook]) => webhook));
  }

  function show(it) {
    const id = it.delivery_id;
    const count = it.attempts.length;
    const shown = requests.get(id);
    const resend = () => attempt(() => post(`${context.base}/deliveries/${id}/redeliver`), "Queued again", reload);
    const toggleRequest = () => attempt(() => (shown ? requests.delete(id) : read(id)), null, reload);
    const isGone = !webhooks.has(it.webhook_id);
    const notes = [it.reason, isGone && it.reason !== DELETED ? DELETED : null].filter(Boolean);
    const state = it.status === "pending" && count > 0 ? "retrying" : it.status;
    return h("details", { open: folds.get(id) ?? areOpen, "data-key": id,
      ontoggle: (event) => folds.set(id, event.target.open) },
    h("summary", {}, badge(state), h("span", { class: "grow" }, h("span", { class: "mono" }, it.url),
      h("span", { class: "small muted line" }, subject(it, shortId))),
    h("span", { class: "small muted" }, [last(it), `${count} ${count === 1 ? "attempt" : "attempts"}`].filter(Boolean).join(" · ")),
    h("span", { class: "small muted" }, time(it.created_at))),
    h("div", { class: "stack" },
      h("div", { class: "row wraps spread" },
        h("span", { class: "small muted" }, subject(it, (id, list) => h("a", { href: `#/${list}/${id}` }, shortId(id))), " · webhook-id ", copyable(id, "the webhook-id"),
          notes.map((note) => ` · ${note}`), it.next_attempt_at ? [" · next attempt ", time(it.next_attempt_at)] : ""),
        h("span", { class: "row" }, count ? h("button", { class: "button slim", type: "button", "aria-expanded": String(Boolean(shown)), onclick: toggleRequest }, shown ? "Hide request" : "Show request") : null,
          context.canChange && !isGone ? h("button", { class: "button slim", type: "button", onclick: resend }, "Resend") : null)),
      count ? h("ol", { class: "timeline" }, it.attempts.map((tried, at) => outcome(tried, at, shown))) : h("p", { class: "muted" }, "The first attempt has not started yet.")));
  }

  return { ready, show };
}

/** The delivery that the URL names. */
function single(id, context) {
  const node = h("div", { class: "stack asked-for" });
  const reload = context.reloader(() => draw());
  const { ready, show } = deliveryList(context, reload, true);
  async function draw() {
    let found;
    try {
      found = await get(`${context.base}/deliveries/${encodeURIComponent(id)}`, context.signal);
    } catch (error) {
      if (error.status !== 404) throw error;
      fill(node, notice("warn", "This delivery no longer exists."));
      return;
    }
    await ready([found]);
    fill(node, h("div", { class: "sheet" }, show(found)), h("h2", {}, "All deliveries"));
  }
  return { node, draw, reload };
}

export async function deliveries(main, context) {
  const filters = filtersOf(context.search, ["status", "webhook_id"]);
  const asked = context.search.get("open");
  const one = asked ? single(asked, context) : null;
  const registered = new Set();
  const hooks = await options(`${context.base}/webhooks`, context.signal, (it) => { registered.add(it.webhook_id); return [it.webhook_id, it.url.slice(0, 60)]; }, filters.webhook_id);
  const { ready, show } = deliveryList(context, () => list.load());
  const list = listing({ path: () => `${context.base}/deliveries${query(filters)}`, context, ready,
    show: (rows) => h("div", {}, rows.map(show)),
    none: noneOf("deliveries", () => filters, "deliveries", empty("No deliveries yet", "A job that ends creates one, if the account has a webhook.")) });
  const resend = () => attempt(() => redeliver(`${context.base}/webhooks`, { webhook_id: filters.webhook_id, url: hooks.find(([id]) => id === filters.webhook_id)[1] }, list.load));
  const many = h("button", { class: "button", type: "button", onclick: resend }, "Resend failed…");
  const offer = () => { many.hidden = !registered.has(filters.webhook_id) || filters.status === "delivered"; };
  offer();
  const change = ({ target }) => { filters[target.name] = target.value; keepFilters("deliveries", { ...filters, open: asked }); offer(); list.restart(); };
  fill(main, head("Deliveries", "What was sent to your webhooks, with every attempt."), one?.node ?? null,
    filterBar(() => filters, context.signal,
      field("State", select("status", [["", "All"], ["pending", "Pending"], ["delivered", "Delivered"], ["failed", "Failed"]], filters.status, change)),
      field("Webhook", select("webhook_id", hooks, filters.webhook_id, change)), context.canChange ? many : null),
    list.node);
  await Promise.all([one?.draw(), list.begin()]);
  return () => { one?.reload(); list.load(); };
}
