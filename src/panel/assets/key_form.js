// The form for the restrictions of an API key.
import { field, h, fieldError } from "./dom.js";
import { call, post } from "./api.js";
import { defaultRateWords, readCounts, checkCounts, concurrentField, group, input, rateField, spendFields, text } from "./limits.js";
import { changeDialog, code, dialog, reveal } from "./dialogs.js";
import { snippet } from "./snippets.js";

export const TIERS = ["fast", "quality", "pro"];
const LIMITS = [["spend_limit", "in total"], ["spend_limit_monthly", "per month"], ["spend_limit_daily", "per day"]];

/** Converts a time to and from a local time field. */
function local(text) {
  if (!text) return "";
  const at = new Date(text);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
const moment = (text) => (text ? new Date(text).toISOString() : null);

function fields(key, { default_rates: rates }) {
  return [
    field("Name", input("name", key?.name, { required: true, maxlength: 200 }), "A label for you; not sent anywhere."),
    group("models", "Models", null, h("div", { class: "choices" }, TIERS.map((tier) => h("label", {},
      h("input", { type: "checkbox", name: "models", value: tier, checked: !key || key.models.includes(tier) }), h("span", {}, tier))))),
    spendFields(LIMITS, key),
    rateField(key?.rate_limit, `Sustained rate and burst size. Empty: ${defaultRateWords(rates)}.`, rates.all),
    concurrentField(key?.max_concurrent, "Jobs of this key that may be queued or processing at once."),
    field("Allowed IP addresses", h("textarea", { name: "allowed_ips", rows: 2, class: "mono short", value: (key?.allowed_ips ?? []).join("\n"), placeholder: "192.0.2.7\n2001:db8::/32", spellcheck: "false" }), "One address or range per line. Empty: all addresses."),
    field("Expires", input("expires_at", local(key?.expires_at), { type: "datetime-local" }), "Stops working at this time (your time zone). Empty: never."),
  ];
}

function formValues(data) {
  const models = data.getAll("models");
  const lines = data.get("allowed_ips").split(/[\s,]+/).filter(Boolean);
  return {
    name: data.get("name"),
    models: models.length === TIERS.length ? null : models,
    spend_limit: text(data, "spend_limit"), spend_limit_monthly: text(data, "spend_limit_monthly"), spend_limit_daily: text(data, "spend_limit_daily"),
    ...readCounts(data),
    allowed_ips: lines.length ? lines : null,
    expires_at: moment(data.get("expires_at")),
  };
}

function check(values) {
  if (values.models?.length === 0) throw fieldError("models", "Choose at least one model.");
  checkCounts(values);
}

function validatedNew(data) {
  const values = formValues(data);
  check(values);
  if (values.expires_at && new Date(values.expires_at) <= new Date()) throw fieldError("expires_at", "Choose a time in the future.");
  return values;
}

export async function createKey(path, context, done) {
  const key = await dialog({ title: "New API key", text: "You see the key once, right after it is created.", fields: fields(null, context.session), confirm: "Create key",
    submit: (data) => post(path, validatedNew(data)) });
  if (key) {
    reveal({ title: "Your new key", text: "Copy it now. Tintype stores only a hash of it and cannot show it again.", value: key.api_key,
      more: code(snippet("curl", { tier: key.models[0], body: { prompt: "a red fox in the snow", aspect_ratio: "1:1" }, key: key.api_key }, context.session.public_url)) });
  }
  await done();
}

export async function changeKey(path, key, context, done) {
  await changeDialog({ title: "Change key", fields: fields(key, context.session), read: formValues, check,
    send: (changed) => call("PATCH", `${path}/${key.key_id}`, changed) });
  await done();
}

export async function rotateKey(path, key, done) {
  const rotated = await dialog({ title: `Rotate “${key.name}”?`, confirm: "Rotate key",
    text: "The key keeps its limits and its recorded spending.",
    fields: [field("Keep the old key working for", h("select", { name: "overlap_hours" },
  [["0", "Revoke now (leaked)"], ["1", "1 hour"], ["24", "1 day"], ["168", "1 week"], ["720", "30 days"]].map(([value, words]) => h("option", { value, selected: value === "24" }, words))),
  "Until then both keys work.")],
    submit: (data) => post(`${path}/${key.key_id}/rotate`, { overlap_hours: Number(data.get("overlap_hours")) }) });
  if (rotated) reveal({ title: "Your new key", text: "Copy it now. It cannot be shown again.", value: rotated.api_key });
  await done();
}
