// The webhook for events of the service: whether one is configured, and how its last deliveries ended.
import { h } from "./dom.js";
import { post } from "./api.js";
import { badge, time } from "./format.js";
import { attempt, notice } from "./dialogs.js";

function result({ attempts, status }) {
  const last = attempts[attempts.length - 1];
  if (!last) return status === "pending" ? "not tried yet" : "";
  return last.status_code ? `HTTP ${last.status_code}` : last.error ?? "no response";
}

/** A notice if the last delivery failed after all attempts. */
export function operatorWebhookNotice({ url, deliveries: [last] }, link) {
  if (!url || last?.status !== "failed") return null;
  return notice("bad", "The last event for the operator was not delivered: ", result(last), ". ", link ? h("a", { href: "#/service" }, "Operator webhook") : null);
}

export function operatorWebhook({ url, deliveries }, reload) {
  const test = () => attempt(() => post("/operator-webhook/test"), "Test event queued", reload);
  return h("section", { class: "card stack" },
    h("div", { class: "row wraps spread" }, h("h2", {}, "Operator webhook"), url ? h("button", { class: "button slim", type: "button", onclick: test }, "Send a test event") : null),
    url ? h("code", { class: "wrap" }, url)
      : h("p", { class: "small muted" }, "None is configured. Set webhook_url and webhook_secret in the section [operator] of config.toml to receive signed events, such as a backend that is down."),
    deliveries.length ? h("ul", { class: "stack lines", "aria-label": "Last deliveries to the operator" }, deliveries.map((it) => h("li", {},
      h("div", { class: "row wraps spread" }, h("span", { class: "row" }, badge(it.status), h("span", { class: "small wrap" }, result(it))), h("span", { class: "small muted" }, time(it.created_at))))))
      : url ? h("p", { class: "small muted" }, "No event has been sent yet.") : null);
}
