// API keys: made, narrowed, switched off.
import { field, fill, h } from "./dom.js";
import { call, post, remove } from "./api.js";
import { badge, money, time, unit } from "./format.js";
import { head } from "./shell.js";
import { attempt, code, dialog, reveal } from "./dialogs.js";
import { empty, listing, table } from "./lists.js";
import { snippet } from "./snippets.js";

const TIERS = ["fast", "quality", "pro"];

function fields(key) {
  const rate = key?.rate_limit;
  return [
    field("Name", h("input", { name: "name", value: key?.name ?? "", required: true, maxlength: 200, autocomplete: "off" }), "What uses it, for your eyes."),
    h("fieldset", { "data-field": "models" }, h("legend", { class: "legend" }, "Models"),
      h("div", { class: "choices" }, TIERS.map((tier) => h("label", {},
        h("input", { type: "checkbox", name: "models", value: tier, checked: !key || key.models.includes(tier) }), h("span", {}, tier)))),
      h("span", { class: "fault", hidden: true })),
    field(`Spend limit (${unit()})`, h("input", { name: "spend_limit", inputmode: "decimal", value: key?.spend_limit ?? "", placeholder: "none", autocomplete: "off" }), "Over the whole life of the key. Empty for none."),
    field("Requests per second", h("input", { name: "rate_limit", inputmode: "numeric", value: rate?.per_second ?? "", placeholder: "none", autocomplete: "off" }), "Bursts of twice as many are let through. Empty for none."),
    field("Expires", h("input", { name: "expires_at", type: "date", value: key?.expires_at?.slice(0, 10) ?? "" }), "From this day on (UTC) the key is refused. Empty for never."),
  ];
}

function body(data) {
  const models = data.getAll("models");
  const rate = data.get("rate_limit").trim();
  const perSecond = Number(rate);
  return {
    name: data.get("name"),
    models: models.length === TIERS.length ? null : models,
    spend_limit: data.get("spend_limit").trim() || null,
    rate_limit: rate ? { per_second: perSecond, burst: perSecond * 2 } : null,
    expires_at: data.get("expires_at") ? `${data.get("expires_at")}T00:00:00Z` : null,
  };
}

function state(key) {
  if (!key.active) return badge("inactive");
  return key.expires_at && new Date(key.expires_at) <= new Date() ? badge("expired") : badge("active");
}

export async function keys(main, context) {
  const path = `${context.base}/keys`;
  const create = () => dialog({ title: "New API key", text: "It is shown once, right after it is made.", fields: fields(null), confirm: "Create key",
    submit: async (data) => {
      const key = await post(path, body(data));
      await list.load();
      reveal({ title: "Your new key", text: "Copy it now: only a hash of it is kept, so it cannot be shown again.", value: key.api_key,
        more: code(snippet("curl", { tier: key.models[0], body: { prompt: "a red fox in the snow", aspect_ratio: "1:1" }, key: key.api_key }, context.session.public_url)) });
    } });
  const change = (key) => dialog({ title: "Change key", fields: fields(key), submit: async (data) => { await call("PATCH", `${path}/${key.key_id}`, body(data)); await list.load(); } });
  const turn = (key) => attempt(async () => { await call("PATCH", `${path}/${key.key_id}`, { active: !key.active }); await list.load(); }, key.active ? "Switched off" : "Switched on");
  const drop = (key) => dialog({ title: `Delete “${key.name}”?`, text: "Whatever uses it is refused from now on. This cannot be undone; what it has spent stays on record.", confirm: "Delete", danger: true,
    submit: async () => { await remove(`${path}/${key.key_id}`); await list.load(); } });
  const slim = (text, work, kind = "") => h("button", { class: `button slim ${kind}`, type: "button", onclick: work }, text);
  const columns = [
    { title: "Name", cell: (key) => h("div", { class: "wrap" }, h("b", {}, key.name), h("div", { class: "small muted" }, "made ", time(key.created_at))) },
    { title: "State", kind: "fit", cell: state },
    { title: "Models", cell: (key) => key.models.length === TIERS.length ? "all" : key.models.join(", ") },
    { title: "Spent", kind: "num fit", cell: (key) => h("a", { href: `#/jobs?key_id=${key.key_id}` }, key.spend_limit ? `${key.spent} of ${money(key.spend_limit)}` : money(key.spent)) },
    ...(context.canChange ? [{ title: "", kind: "fit", cell: (key) => h("span", { class: "row" },
      slim("Change", () => change(key)), slim(key.active ? "Switch off" : "Switch on", () => turn(key)), slim("Delete", () => drop(key), "danger")) }] : []),
  ];
  const button = context.canChange ? h("button", { class: "button main", type: "button", onclick: create }, "New key") : null;
  const list = listing({ path, signal: context.signal, show: (rows) => table(columns, rows, "API keys"), none: empty("No keys yet", "A key lets a program make pictures on this account.") });
  fill(main, head("API keys", "What programs sign in with. Keep each to what it needs: models, money, pace, time.", button), list.node);
  await list.load();
}
