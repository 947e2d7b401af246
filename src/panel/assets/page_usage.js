// Usage by day, key and model of one account, or for the operator of all accounts.
import { fill, h } from "./dom.js";
import { callPath, get, query } from "./api.js";
import { count, figure, figureNumber, grouped, keyName, unit } from "./format.js";
import { finished, spans, spentByModel } from "./charts.js";
import { head } from "./shell.js";
import { UTC_DAYS, days as dayFields, filtersOf, keepFilters } from "./filters.js";
import { empty, table } from "./lists.js";

const COUNTS = [
  { title: "Images", kind: "num fit", cell: (it) => count(it.done) },
  { title: "Failed", kind: "num fit", cell: (it) => count(it.failed) },
  { title: "Spent", kind: "num fit", amount: (it) => it.spent },
];

const sheet = (title, rows, first, key, more) => h("section", { class: "stack tight" }, h("h2", {}, title),
  h("div", { class: "sheet" }, rows.length ? h("div", { class: "scroll" }, table([first, ...COUNTS], rows, title, key)) : empty("Nothing yet", "No job ended in this period.")),
  more ? h("p", { class: "small muted" }, more) : null);

const byModel = (models) => sheet("By model", models,
  { title: "Model", kind: "rest", cell: (it) => `${it.model} · ${it.resolution}` },
  (it) => `${it.model} ${it.resolution}`);

/** The longest range that the service reports. */
const MAX_DAYS = 366;

/** A mean price with three decimals, or with two digits if it is lower. */
const mean = (price) => price.toFixed(price > 0 ? Math.max(3, 1 - Math.floor(Math.log10(price))) : 3);

/** `sheets` builds the tables from the API answer; `name` is the page in the URL. */
async function page(main, context, { name, path, title, text, sheets }) {
  // A chosen range replaces the number of days.
  let span = 30;
  const range = filtersOf(context.search, ["from", "to"]);
  const dates = () => dayFields(["from", "to"], range, (end, day) => choose(span, { [end]: day }), UTC_DAYS, MAX_DAYS);
  // One element for all redraws, so that a date can be typed meanwhile.
  let fields = dates();
  const reload = context.reloader(() => draw());
  const draw = async () => {
    const isRange = Boolean(range.from || range.to);
    const wanted = query(isRange ? range : { days: span });
    const usage = await get(`${path}/usage${wanted}`, context.signal);
    const { total, days, models } = usage;
    const ended = total.done + total.failed;
    return fill(main,
      head(title, text, h("a", { class: "button", download: true, href: callPath(`${path}/usage.csv${wanted}`) }, "Download CSV")),
      h("div", { class: "stack" },
        h("div", { class: "filters filter-row end" },
          fields, spans(null, isRange ? null : span, (chosen) => {
            choose(chosen, { from: "", to: "" });
            fields = dates();
          })),
        h("div", { class: "cards" },
          figure("Spent", [figureNumber(grouped(total.spent)), h("small", {}, ` ${unit()}`)], days.length === 1 ? "in 1 day" : `in ${days.length} days`),
          figure("Images", count(total.done), total.done ? `about ${mean(Number(total.spent) / total.done)} ${unit()} each` : null),
          figure("Failed", count(total.failed), ended ? `${((100 * total.failed) / ended).toFixed(1)} % of ${count(ended)}, not charged` : null)),
        h("div", { class: "halves" }, spentByModel(days), finished(days)),
        h("div", { class: "halves" }, sheets(usage), byModel(models))));
  };
  const choose = (chosen, days) => {
    span = chosen;
    Object.assign(range, days);
    keepFilters(name, range);
    reload();
  };
  await draw();
  return reload;
}

export const usage = (main, context) => page(main, context, {
  name: "usage", path: context.base, title: "Usage", text: "Ended jobs and their charges, by UTC day.",
  sheets: ({ keys }) => sheet("By key", keys,
    { title: "Key", kind: "rest", cell: (it) => h("a", { class: "clip", href: `#/jobs?key=${it.key_id}` }, keyName(it)) }, (it) => it.key_id),
});

export const allUsage = (main, context) => page(main, context, {
  name: "all-usage", path: "", title: "Usage of all accounts", text: "Ended jobs of all accounts and their charges, by UTC day.",
  sheets: ({ accounts, account_count: count }) => sheet("By account", accounts,
    { title: "Account", kind: "rest", cell: (it) => h("button", { class: "link", type: "button", onclick: () => context.visit(it.account_id, "#/usage") }, h("span", { class: "clip" }, it.account_name)) },
    (it) => it.account_id,
    count > accounts.length ? `Top ${accounts.length} accounts by spend, of ${count}. The CSV file has all of them.` : null),
});
