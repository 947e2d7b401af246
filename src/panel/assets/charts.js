// Bar charts as SVG.
import { fill, h, s } from "./dom.js";
import { day, hour, moment, money, unit } from "./format.js";

const named = (it) => (it.hour ? hour(it.hour) : day(it.day));
const per = (days) => (days[0]?.hour ? "hour" : "day");
const over = (days) => `${days.length} ${per(days)}s`;

/** The height of a chart in the style sheet. */
const HEIGHT = 150;
const FLOOR = 126;
const LEFT = 40;
/** The width of a date. */
const DATE_WIDTH = 64;

/** The top of the scale: a round number, and an even one for whole counts. */
function ceiling(most, whole) {
  if (whole && most <= 10) return Math.max(2, 2 * Math.ceil(most / 2));
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 2.5, 5, 10].map((it) => it * power).find((it) => it >= most - 1e-12);
}

const number = (value) => (value >= 10_000 ? `${Number((value / 1000).toPrecision(3))}k` : String(Number(value.toPrecision(3))));

/** Stacked bars over days. `parts` are {of, class}; `describe` returns the text of a day, which is shown while the pointer is over it. */
export function bars(days, parts, describe, label, whole = false) {
  const total = (it) => parts.reduce((sum, part) => sum + part.of(it), 0);
  const top = ceiling(Math.max(...days.map(total)), whole);
  const scale = (value) => (value / top) * (FLOOR - 12);
  const mark = (value, width) => s("g", {},
    s("line", { class: "grid", x1: LEFT, x2: width, y1: FLOOR - scale(value), y2: FLOOR - scale(value) }),
    s("text", { x: LEFT - 8, y: FLOOR - scale(value) + 4, "text-anchor": "end" }, number(value)));
  const bar = (it, at, width) => {
    const step = (width - LEFT) / days.length;
    const every = Math.max(1, Math.ceil(DATE_WIDTH / step));
    let y = FLOOR;
    const pieces = parts.map((part) => {
      const height = part.of(it) > 0 ? Math.max(scale(part.of(it)), 2) : 0;
      y -= height;
      return s("rect", { class: part.class, x: LEFT + at * step + step * .18, y, width: step * .64, height, rx: Math.min(2.5, step / 6) });
    });
    const isNamed = at % every === (days.length - 1) % every;
    const middle = Math.min(LEFT + (at + .5) * step, width - 18);
    const words = `${named(it)}: ${describe(it)}`;
    const group = s("g", {}, s("title", {}, words),
      s("rect", { class: "hover", x: LEFT + at * step, y: 4, width: step, height: FLOOR - 4 }), pieces,
      isNamed ? s("text", { x: middle, y: FLOOR + 17, "text-anchor": "middle" }, named(it)) : null);
    group.addEventListener("pointerenter", () => { values.textContent = words; });
    group.addEventListener("pointerleave", () => { values.textContent = ""; });
    return group;
  };
  const values = h("p", { class: "values small muted", "aria-hidden": "true" });
  const chart = s("svg", { class: "chart", role: "img", "aria-label": label });
  // Drawn for the width that it gets, so that text is not scaled.
  new ResizeObserver(([{ contentRect: { width } }]) => {
    if (!width) return;
    chart.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    fill(chart, [0, top / 2, top].map((value) => mark(value, width)), days.map((it, at) => bar(it, at, width)));
  }).observe(chart);
  return [chart, values];
}

const sum = (days, of) => days.reduce((total, it) => total + of(it), 0);

export const spend = (days) => h("section", { class: "card" },
  h("div", { class: "row spread" }, h("h2", {}, `Spend per ${per(days)}`), h("span", { class: "muted small" }, unit())),
  bars(days, [{ of: (it) => Number(it.spent), class: "bar-good" }], (it) => money(it.spent),
    `Spend per ${per(days)} over ${over(days)}, about ${sum(days, (it) => Number(it.spent)).toFixed(2)} ${unit()} in all`));

const MODELS = ["fast", "quality", "pro"];

export const spentByModel = (days) => h("section", { class: "card" },
  h("div", { class: "row spread" }, h("h2", {}, "Spend per day"),
    h("div", { class: "legend-row" }, MODELS.map((it) => h("span", { class: it }, it)))),
  bars(days, MODELS.map((model) => ({ of: (it) => Number(it.models[model]), class: `bar-${model}` })),
    (it) => MODELS.filter((model) => Number(it.models[model])).map((model) => `${model} ${money(it.models[model])}`).join(", ") || money(it.spent),
    `Spend per day by model over ${days.length} days, about ${sum(days, (it) => Number(it.spent)).toFixed(2)} ${unit()} in all`));

export const finished = (days) => h("section", { class: "card" },
  h("div", { class: "row spread" }, h("h2", {}, `Images per ${per(days)}`),
    h("div", { class: "legend-row" }, h("span", { class: "done" }, "done"), h("span", { class: "bad" }, "failed"))),
  bars(days, [{ of: (it) => it.done, class: "bar-done" }, { of: (it) => it.failed, class: "bar-bad" }],
    (it) => `${it.done} done, ${it.failed} failed`,
    `Images per ${per(days)} over ${over(days)}: ${sum(days, (it) => it.done)} done, ${sum(days, (it) => it.failed)} failed`, true));

/** Says how far back the chart of the last 24 hours reaches, if the service did not read all jobs. */
export function reach({ days_since: since }) {
  if (!since) return null;
  const isToday = new Date(since).toDateString() === new Date().toDateString();
  return h("p", { class: "small muted" }, `These are the newest 100,000 jobs, since ${isToday ? hour(since) : moment(since)}. Earlier jobs are not counted.`);
}

const DAY = 86_400_000;
const age = (since) => Date.now() - new Date(since);

/** The initial span: the first two days are shown per hour. */
export const firstSpan = (since, fallback) => (age(since) < 2 * DAY ? 1 : fallback);

/** Buttons for the number of days. 24 hours are offered for the first two weeks after `since`. */
export const spans = (since, chosen, change) => h("div", { class: "tabs", role: "group", "aria-label": "Time shown" },
  [...(since && age(since) < 14 * DAY ? [1] : []), 14, 30, 90].map((days) => h("button", { type: "button", "aria-pressed": String(days === chosen), onclick: () => change(days) }, days === 1 ? "24 h" : `${days} days`)));
