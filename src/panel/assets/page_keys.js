// The API keys of the account.
import { fill, h } from "./dom.js";
import { call, remove } from "./api.js";
import { badge, minute, money, time } from "./format.js";
import { head } from "./shell.js";
import { attempt, dialog, toast } from "./dialogs.js";
import { empty, listing, table } from "./lists.js";
import { TIERS, changeKey, createKey, rotateKey } from "./key_form.js";
import { menu } from "./menu.js";

export function keyState(key) {
  if (!key.active) return badge("inactive");
  return key.expires_at && new Date(key.expires_at) <= new Date() ? badge("expired") : badge("active");
}

/** The first characters of a key, to identify a leaked key. */
export const prefix = (key) => h("code", {}, `${key.prefix}…`);

/** Marks the key that the panel created. */
export const systemBadge = (key) => (key.system ? h("span", { class: "badge plain", title: "Created by the panel. Images of the playground are charged to it." }, "system") : null);

export const deactivateKey = (path, key) => dialog({
  title: key.system ? "Turn off the playground?" : `Deactivate “${key.name}”?`, confirm: "Deactivate", danger: true,
  text: key.system ? "The panel charges images of the playground to this key. While it is inactive, the playground cannot generate images. You can activate it again at any time."
    : "Programs that use this key are refused at once. You can activate it again at any time.",
  submit: async () => { await call("PATCH", `${path}/${key.key_id}`, { active: false }); toast("Deactivated"); },
});

/** Asks, then deletes a key. Resolves to whether it was deleted. */
export const deleteKey = (path, key) => dialog({ title: `Delete “${key.name}”?`, confirm: "Delete", danger: true,
  text: "Programs that use it stop working now. This cannot be undone. Its charges stay on record.",
  submit: async () => { await remove(`${path}/${key.key_id}`); toast("Deleted"); } });

/** The milliseconds before its end from which an expiry is a warning. */
const SOON = 7 * 24 * 3_600_000;

/** An expiry that is near; the badge of the state shows one that has passed. */
function expiresSoon({ expires_at: at }) {
  const left = new Date(at) - new Date();
  return at && left > 0 && left < SOON ? h("span", { class: "badge warn" }, h("span", {}, "expires ", time(at))) : null;
}

function limits(key) {
  const soon = expiresSoon(key);
  const parts = [
    key.spend_limit && `${money(key.spend_limit)} in total`, key.spend_limit_monthly && `${money(key.spend_limit_monthly)} per month`, key.spend_limit_daily && `${money(key.spend_limit_daily)} per day`,
    key.rate_limit && `${key.rate_limit.per_second} per second`, key.max_concurrent && `${key.max_concurrent} at once`, key.allowed_ips && `${key.allowed_ips.length} ${key.allowed_ips.length === 1 ? "address" : "addresses"}`,
    key.expires_at && !soon && `until ${minute(key.expires_at)}`,
  ].filter(Boolean).join(", ");
  return h("span", { class: "row wraps small" }, parts || !soon ? h("span", {}, parts || "none") : null, soon);
}

export async function keys(main, context) {
  const path = `${context.base}/keys`;
  const activate = (key) => attempt(() => call("PATCH", `${path}/${key.key_id}`, { active: true }), "Activated", list.load);
  const deactivate = (key) => deactivateKey(path, key).then(list.load);
  const slim = (text, work) => h("button", { class: "button slim", type: "button", onclick: work }, text);
  const columns = [
    { title: "Name", cell: (key) => h("div", { class: "wrap" }, h("a", { href: `#/keys/${key.key_id}` }, h("b", {}, key.name)), " ", systemBadge(key),
      h("div", { class: "small muted" }, key.system ? "charged by the playground" : prefix(key), " · ", key.models.length === TIERS.length ? "all models" : key.models.join(", "))) },
    { title: "State", kind: "fit", cell: keyState },
    { title: "Limits", cell: limits },
    { title: "Spent", kind: "num fit", amount: (key) => key.spent },
    { title: "Last used", kind: "fit", cell: (key) => key.last_used_at ? time(key.last_used_at) : h("span", { class: "muted" }, key.system ? "–" : "never") },
    ...(context.canChange ? [{ title: "", kind: "fit", cell: (key) => h("span", { class: "row end" },
      slim("Change", () => changeKey(path, key, context, list.load)), menu(`More actions for ${key.name}`, [
        key.system ? null : ["Rotate", () => rotateKey(path, key, list.load)],
        key.active ? ["Deactivate", () => deactivate(key)] : ["Activate", () => activate(key)],
        key.system ? null : ["Delete", () => deleteKey(path, key).then(list.load), "danger"]])) }] : []),
  ];
  const button = context.canChange ? h("button", { class: "button main", type: "button", onclick: () => createKey(path, context, list.load) }, "New key") : null;
  const list = listing({ path, context, show: (rows) => table(columns, rows, "API keys", (it) => it.key_id), none: empty("No keys yet", "Programs need a key to generate images.") });
  fill(main, head("API keys", "Programs authenticate with a key. Limit each key by model, spend, rate, IP and expiry.", button), list.node);
  await list.begin();
  return list.load;
}
