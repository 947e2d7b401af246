// The API keys of the account.
import { fill, h } from "./dom.js";
import { call } from "./api.js";
import { badge, money, time } from "./format.js";
import { head } from "./shell.js";
import { attempt, dialog, toast } from "./dialogs.js";
import { empty, listing, table } from "./lists.js";
import { TIERS, changeKey, createKey } from "./key_form.js";

export function keyState(key) {
  if (!key.active) return badge("inactive");
  return key.expires_at && new Date(key.expires_at) <= new Date() ? badge("expired") : badge("active");
}

/** A summary of the limits. */
function limits(key) {
  const said = [
    key.spend_limit && `${key.spend_limit} in total`, key.spend_limit_monthly && `${key.spend_limit_monthly} per month`, key.spend_limit_daily && `${key.spend_limit_daily} per day`,
    key.rate_limit && `${key.rate_limit.per_second} per second`, key.allowed_ips && `${key.allowed_ips.length} ${key.allowed_ips.length === 1 ? "address" : "addresses"}`,
  ];
  return said.filter(Boolean).join(", ") || "none";
}

export async function keys(main, context) {
  const path = `${context.base}/keys`;
  const turn = (key, active) => call("PATCH", `${path}/${key.key_id}`, { active });
  const activate = (key) => attempt(() => turn(key, true), "Activated", list.load);
  const deactivate = (key) => dialog({ title: `Deactivate “${key.name}”?`, text: "Programs that use this key are refused at once. You can activate it again at any time.", confirm: "Deactivate", danger: true,
    submit: async () => { await turn(key, false); toast("Deactivated"); } }).then(list.load);
  const slim = (text, work) => h("button", { class: "button slim", type: "button", onclick: work }, text);
  const columns = [
    { title: "Name", cell: (key) => h("div", { class: "wrap" }, h("a", { href: `#/keys/${key.key_id}` }, h("b", {}, key.name)),
      h("div", { class: "small muted" }, key.models.length === TIERS.length ? "all models" : key.models.join(", "))) },
    { title: "State", kind: "fit", cell: keyState },
    { title: "Limits", cell: (key) => h("span", { class: "small" }, limits(key)) },
    { title: "Spent", kind: "num fit", cell: (key) => money(key.spent) },
    { title: "Last used", kind: "fit", cell: (key) => key.last_used_at ? time(key.last_used_at) : h("span", { class: "muted" }, "never") },
    ...(context.canChange ? [{ title: "", kind: "fit", cell: (key) => h("span", { class: "row" },
      slim("Change", () => changeKey(path, key, list.load)), key.active ? slim("Deactivate", () => deactivate(key)) : slim("Activate", () => activate(key))) }] : []),
  ];
  const button = context.canChange ? h("button", { class: "button main", type: "button", onclick: () => createKey(path, context, list.load) }, "New key") : null;
  const list = listing({ path, context, show: (rows) => table(columns, rows, "API keys", (it) => it.key_id), none: empty("No keys yet", "Programs need a key to generate images.") });
  fill(main, head("API keys", "Programs sign in with a key. Limit each key by model, spend, rate, IP and expiry.", button), list.node);
  await list.begin();
  return list.load;
}
