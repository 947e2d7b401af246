// Formats numbers, times and states.
import { h } from "./dom.js";

let currency = "USD";
export const setCurrency = (text) => { currency = text; };
export const unit = () => currency;

/** The exact text of an amount with thousands separators and at least `digits` decimals. */
export function grouped(text, digits = 0) {
  const [, sign, whole, part = ""] = text.match(/^(-?)(\d+)(?:\.(\d+))?$/) ?? [];
  if (whole === undefined) return text;
  const decimals = part.padEnd(digits, "0");
  return `${sign}${whole.replace(/\B(?=(\d{3})+$)/g, ",")}${decimals && `.${decimals}`}`;
}

/** A count with thousands separators. */
export const count = (number) => grouped(String(number));

/** A card with a value. */
export const figure = (label, value, note) => h("div", { class: "card figure" },
  h("span", { class: "label" }, label), h("span", { class: "value" }, value), note ? h("span", { class: "small muted" }, note) : null);

/** The number of a figure. It never breaks: a number of many digits gets a smaller font, so that it fits its card. */
export function figureNumber(text) {
  const shown = h("span", { class: "amount" }, text);
  shown.style.setProperty("--chars", text.length);
  return shown;
}

/** An amount with the currency. */
export const money = (text, digits) => `${grouped(text, digits)} ${currency}`;

/** The most decimals of these amounts, for a column in which all have the same number. */
export const decimalsOf = (amounts) => Math.max(0, ...amounts.map((it) => it?.split(".")[1]?.length ?? 0));

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const STEPS = [[60, "second", 1], [3600, "minute", 60], [86400, "hour", 3600], [604800, "day", 86400]];

export const day = (text) => DAY.format(new Date(`${text}T00:00:00Z`));
const HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
/** In local time. */
export const hour = (text) => HOUR.format(new Date(text));
const MINUTE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
export const minute = (at) => MINUTE.format(new Date(at));
export const moment = (text) => DATE.format(new Date(text));

function relative(text) {
  const seconds = (new Date(text) - Date.now()) / 1000;
  const step = STEPS.find(([most]) => Math.abs(seconds) < most);
  return step ? AGO.format(Math.round(seconds / step[2]), step[1]) : moment(text);
}

/** A relative time within a week, otherwise the date. The exact time is in the title. */
export const time = (text) => (text ? h("time", { datetime: text, title: text, class: "nowrap", "data-relative": true }, relative(text)) : "–");

/** Milliseconds between updates of the relative times. */
const TICK = 5_000;

/** Keeps the relative times of the page current: a page without changes is not reloaded. */
export function keepTimesCurrent() {
  setInterval(() => {
    for (const it of document.querySelectorAll("time[data-relative]")) {
      const words = relative(it.dateTime);
      if (it.textContent !== words) it.textContent = words;
    }
  }, TICK);
}

export function millis(span) {
  if (span < 1000) return `${span} ms`;
  const tenths = Math.round(span / 100);
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
  const seconds = Math.round(span / 1000);
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  if (days) return `${days} d ${hours} h`;
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`;
}

export const duration = (from, to) => millis(new Date(to) - new Date(from));

export function bytes(number) {
  if (number < 1000) return `${number} bytes`;
  if (number < 1e6) return `${(number / 1e3).toFixed(0)} kB`;
  if (number < 1e9) return `${(number / 1e6).toFixed(1)} MB`;
  return `${(number / 1e9).toFixed(1)} GB`;
}

const COLOURS = {
  queued: "", canceled: "", processing: "busy", done: "good", failed: "bad",
  pending: "busy", retrying: "warn", delivered: "good",
  active: "good", inactive: "", expired: "bad", invited: "warn",
  running: "busy", canceling: "warn", ended: "good",
  up: "good", leaving: "warn", dead: "bad", degraded: "warn", down: "bad", probing: "warn", paused: "warn", low: "warn",
};

export const badge = (word, text) => h("span", { class: `badge ${COLOURS[word] ?? ""}` }, text ?? word);

/** The name of a row's API key. */
export function keyName({ key_name: name, key_deleted: isDeleted }) {
  if (name === null) return "deleted";
  return isDeleted ? `${name} (deleted)` : name;
}

/** The last 8 characters of an id; the whole id is in the title. */
export const shortId = (id) => h("code", { title: id }, id.slice(-8));
