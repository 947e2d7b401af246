// The registered webhooks.
import { field, fill, form, h } from "./dom.js";
import { call, get, post, remove } from "./api.js";
import { badge, time } from "./format.js";
import { head } from "./shell.js";
import { attempt, changeDialog, code, dialog, notice, reveal, toast, undoable } from "./dialogs.js";
import { empty } from "./lists.js";
import { menu } from "./menu.js";
import { tabs } from "./tabs.js";
import { redeliver } from "./redeliver.js";
import { verifyDelivery } from "./verify_delivery.js";
import { recorded, vector, verifiers } from "./verifiers.js";

const encoding = (chosen = "ascii") => field("JSON encoding", h("select", { name: "encoding" },
  h("option", { value: "ascii", selected: chosen === "ascii" }, "ASCII-escaped (as Python writes it)"),
  h("option", { value: "utf8", selected: chosen === "utf8" }, "UTF-8 (as JavaScript writes it)")),
"Matters only if your receiver encodes the parsed body again.");

export async function webhooks(main, context) {
  const path = `${context.base}/webhooks`;
  const list = h("div", { class: "stack" });
  const reload = context.reloader(() => load());
  const register = form({ class: "card hook" }, async (data, element) => {
    const webhook = await post(path, Object.fromEntries(data));
    element.reset();
    reload();
    reveal({ title: "Webhook registered", text: "This secret signs every delivery to this URL. You can show it again at any time.", value: webhook.secret });
  },
  h("h2", {}, "Register a webhook"),
  h("div", { class: "halves" }, field("URL", h("input", { name: "url", type: "url", placeholder: "https://example.com/tintype", required: true, autocomplete: "off" }), "Receives a POST when a job is done or has failed."), encoding()),
  h("div", {}, h("button", { class: "button main", type: "submit" }, "Register")));

  const actions = (webhook) => {
    const own = `${path}/${webhook.webhook_id}`;
    const slim = (text, work) => h("button", { class: "button slim", type: "button", onclick: work }, text);
    const rotate = () => dialog({ title: "Rotate the signing secret?", text: "X-Signature uses the new secret at once. webhook-signature carries both for 24 hours.", confirm: "Rotate secret",
      submit: () => post(`${own}/rotate-secret`) }).then((changed) => { if (changed) reveal({ title: "Your new secret", text: "Configure your receiver with it now.", value: changed.secret }); });
    const test = () => attempt(async () => {
      const sent = await post(`${own}/test`);
      toast("Test delivery queued");
      location.hash = `#/deliveries?open=${sent.delivery_id}`;
    });
    const show = () => attempt(async () => { const full = await post(`${own}/secret`); reveal({ title: "Secret", text: webhook.url, value: full.secret }); });
    const change = () => changeDialog({ title: "Change webhook", fields: [field("URL", h("input", { name: "url", type: "url", value: webhook.url, autocomplete: "off" })), encoding(webhook.encoding)],
      read: Object.fromEntries, send: (changed) => call("PATCH", own, changed) }).then(reload);
    const setActive = (active) => attempt(() => call("PATCH", own, { active }), null, reload);
    const deactivate = async () => { if (await setActive(false)) undoable("Deactivated. Deliveries fail until you activate the webhook again.", activate); };
    const activate = async () => { if (await setActive(true)) toast("Activated"); };
    const resend = () => attempt(() => redeliver(path, webhook, reload));
    const deleteWebhook = () => dialog({ title: "Delete this webhook?", success: "Deleted", text: "Tintype sends nothing more to it, and its pending deliveries fail. Past deliveries stay on record.", confirm: "Delete", danger: true,
      submit: () => remove(own) }).then(reload);
    return h("div", { class: "row" }, webhook.active ? slim("Send a test", test) : slim("Activate", activate), menu(`More actions for ${webhook.url}`, [
      ["Show secret", show], ["Rotate secret", rotate], ["Change", change], webhook.active ? ["Deactivate", deactivate] : null, webhook.active ? ["Resend failed…", resend] : null, ["Delete", deleteWebhook, "danger"]]));
  };
  const rate = ({ delivered, failed, pending }, all) => {
    const ended = delivered + failed;
    const words = ended ? `${Math.floor((delivered / ended) * 1000) / 10} % of ${ended} ${ended === 1 ? "delivery" : "deliveries"} delivered` : "no delivery has ended yet";
    return [words, pending ? `${pending} pending` : null, all ? null : "of the newest 1,000 of the account"].filter(Boolean).join(", ");
  };
  const card = (outcomes) => (webhook, at) => h("section", { class: "card hook", "data-key": webhook.webhook_id },
    h("div", { class: "row wraps spread" }, h("span", { class: "url" }, webhook.url),
      h("span", { class: "row wraps" }, webhook.active ? null : badge("inactive"), at === 0 ? h("span", { class: "badge plain" }, "default") : null,
        h("span", { class: "badge plain" }, webhook.encoding))),
    h("p", { class: "small muted" }, at === 0 ? "Receives every job that names no callback_url, because it is the oldest webhook, and the jobs that name its URL."
      : "Receives only the jobs that name its URL as their callback_url."),
    webhook.active ? null : notice("warn", "Nothing is sent to this webhook. Its deliveries fail and stay in the log: activate it, then choose “Resend failed…”."),
    h("div", { class: "row wraps spread" }, h("span", { class: "small muted" }, "registered ", time(webhook.created_at), " · ",
      rate(outcomes.webhooks[webhook.webhook_id] ?? { delivered: 0, failed: 0, pending: 0 }, outcomes.all), " · ", h("a", { href: `#/deliveries?webhook_id=${webhook.webhook_id}` }, "deliveries")),
      context.canChange ? actions(webhook) : null));
  const check = verifyDelivery(path);
  const checking = h("section", { class: "card stack", hidden: true }, h("h2", {}, "Verify a delivery"), check.node);
  const load = async () => {
    const [found, outcomes] = await Promise.all([get(`${path}?limit=100`, context.signal), get(`${context.base}/webhook-outcomes`, context.signal)]);
    check.offer(found.data);
    checking.hidden = !found.data.length;
    fill(list, found.data.length ? found.data.map(card(outcomes)) : h("div", { class: "sheet" }, empty("No webhooks yet", "Without a webhook, programs poll for the result.")));
  };
  const receivers = tabs("Language of the receiver", Object.keys(verifiers), (name) => code(verifiers[name]));
  fill(main, head("Webhooks", "We POST here when a job finishes. Each webhook has its own signing secret."),
    h("div", { class: "stack" }, context.canChange ? register : null, list, context.canChange ? checking : null,
      h("section", { class: "card stack" }, h("h2", {}, "Verify signatures"),
        h("p", { class: "muted small" }, "X-Signature is the HMAC-SHA256 of X-Timestamp, a full stop and the raw body, with the text of the secret as the key. Compare in constant time, and reject deliveries that are more than 300 seconds from your clock."), receivers.node,
        h("h3", {}, "Test vector"), h("p", { class: "muted small" }, "Each program above ends with it. Your receiver must accept it too, at the time ", h("code", {}, String(vector.now)), " and with the secret ", h("code", { class: "wrap" }, vector.secret), ":"), code(recorded))));
  await load();
  return reload;
}
