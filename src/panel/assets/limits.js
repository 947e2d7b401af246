// Limits of keys and accounts: form fields and usage.
import { field, h, fieldError } from "./dom.js";
import { grouped, money, unit } from "./format.js";

export const input = (name, value, more) => h("input", { name, value: value ?? "", autocomplete: "off", ...more });
const small = (label, control) => h("label", { class: "part" }, h("span", {}, label), control);

export function group(name, legend, hint, ...parts) {
  return h("fieldset", { class: "field", "data-field": name }, h("legend", { class: "legend" }, legend), ...parts,
    hint ? h("span", { class: "hint" }, hint) : null, h("span", { class: "fault", hidden: true }));
}

/** Spend limits side by side; `limits` are [name, label]. */
export const spendFields = (limits, values) => h("div", {}, h("span", { class: "legend" }, `Spend limit (${unit()})`),
  h("div", { class: "parts" }, limits.map(([name, label]) => h("div", { class: "field", "data-field": name },
    small(label, input(name, values?.[name], { inputmode: "decimal", placeholder: "no limit" })), h("span", { class: "fault", hidden: true })))));

export const rateField = (rate, hint, otherwise) => group("rate_limit", "Rate limit", hint, h("div", { class: "parts" },
  small("per second", input("per_second", rate?.per_second, { inputmode: "numeric", placeholder: otherwise?.per_second ?? "no limit" })),
  small("burst", input("burst", rate?.burst, { inputmode: "numeric", placeholder: otherwise?.burst ?? "twice that" }))));

export const concurrentField = (count, hint) => field("Concurrent jobs", input("max_concurrent", count, { inputmode: "numeric", placeholder: "no limit" }), hint);

export const text = (data, name) => data.get(name).trim() || null;
const count = (data, name) => (text(data, name) === null ? null : Number(text(data, name)));

/** Reads rate limit and concurrent jobs from a form. The rate limit is two fields in the form and one in the API. */
export function readCounts(data) {
  const [perSecond, burst] = [count(data, "per_second"), count(data, "burst")];
  return {
    rate_limit: perSecond === null && burst === null ? null : { per_second: perSecond, burst: burst ?? perSecond * 2 },
    max_concurrent: count(data, "max_concurrent"),
  };
}

/** Throws a field error for invalid counts. */
export function checkCounts({ rate_limit: rate, max_concurrent: live }) {
  const whole = (it) => Number.isInteger(it) && it >= 1 && it <= 1_000_000;
  if (rate && !(whole(rate.per_second) && whole(rate.burst))) {
    throw fieldError("rate_limit", "Enter whole numbers from 1 to 1,000,000. The rate per second is required.");
  }
  if (live !== null && !whole(live)) throw fieldError("max_concurrent", "Enter a whole number from 1 to 1,000,000.");
}

export const rateWords = (rate) => `${rate.per_second} per second, burst ${rate.burst}`;

/** The limit of a key that has none of its own: the service's for all calls, or else for calls that fetch input images. */
export function defaultRateWords({ all, fetches }) {
  if (all) return `${rateWords(all)}, the default of the service`;
  return fetches ? `no limit; calls that fetch input images: ${rateWords(fetches)}` : "no limit";
}

/** How much of a limit is used; `show` formats a number. */
export function used(label, amount, limit, show = money) {
  const words = limit ? `${grouped(String(amount))} of ${show(limit)}` : show(amount);
  return h("div", { class: "used" }, h("div", { class: "row spread" }, h("span", {}, label), h("b", {}, words)),
    limit ? h("progress", { max: Math.max(Number(limit), 1e-6), value: Math.min(Number(amount), Number(limit)), "aria-label": `${label}: ${words}` }) : null);
}

/** The limits of an account and their usage. */
export function accountLimits(limits) {
  const { used: usage } = limits;
  return h("section", { class: "card stack" },
    h("div", {}, h("h2", {}, "Limits of the account"), h("p", { class: "small muted" }, "Set by the operator, for all keys together. Reserved amounts count as spent.")),
    limits.spend_per_day ? used("Today (UTC)", usage.spent_today, limits.spend_per_day) : null,
    limits.spend_per_month ? used("This month", usage.spent_this_month, limits.spend_per_month) : null,
    limits.max_concurrent ? used("Concurrent jobs", usage.live_jobs, limits.max_concurrent, String) : null,
    limits.rate_limit ? h("div", { class: "row spread" }, h("span", {}, "Rate limit"), h("b", {}, rateWords(limits.rate_limit))) : null);
}

export const accountLimitFields = (limits) => h("details", { class: "further", open: Boolean(limits) }, h("summary", {}, "Limits"), h("div", { class: "stack" },
  h("p", { class: "small muted" }, "For all keys of the account together. Its people see the limits and cannot change them."),
  spendFields([["spend_per_day", "per day (UTC)"], ["spend_per_month", "per month"]], limits),
  rateField(limits?.rate_limit, "Sustained rate and burst size of all keys. Empty: no limit."),
  concurrentField(limits?.max_concurrent, "Jobs of the account that may be queued or processing at once.")));

export const readAccountLimits = (data) => ({ spend_per_day: text(data, "spend_per_day"), spend_per_month: text(data, "spend_per_month"), ...readCounts(data) });

/** Runs `send`. Removes the prefix `limits.` from error fields, because the form has no prefix. */
export async function sendLimits(send) {
  try {
    return await send();
  } catch (error) {
    for (const fault of error.errors ?? []) fault.field = fault.field.replace(/^limits\./, "");
    throw error;
  }
}
