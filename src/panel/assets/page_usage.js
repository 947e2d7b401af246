// What the account has used, by day, by key and by model.
import { fill, h } from "./dom.js";
import { get, query } from "./api.js";
import { money, unit } from "./format.js";
import { finished, spans, spentByModel } from "./charts.js";
import { head } from "./shell.js";
import { notice } from "./dialogs.js";
import { empty, table } from "./lists.js";

const figure = (label, value, note) => h("div", { class: "card figure" },
  h("span", { class: "label" }, label), h("span", { class: "value" }, value), note ? h("span", { class: "small muted" }, note) : null);

/** Done and failed images, and the charges. */
const COUNTS = [
  { title: "Images", kind: "num fit", cell: (it) => String(it.done) },
  { title: "Failed", kind: "num fit", cell: (it) => String(it.failed) },
  { title: "Spent", kind: "num fit", cell: (it) => money(it.spent) },
];

const sheet = (title, rows, first, key) => h("section", { class: "stack tight" }, h("h2", {}, title),
  h("div", { class: "sheet" }, rows.length ? h("div", { class: "scroll" }, table([first, ...COUNTS], rows, title, key)) : empty("Nothing yet", "No job has ended in this time.")));

export async function usage(main, context) {
  let span = 30;
  const again = context.fresh(() => draw());
  const draw = async () => {
    const asked = query({ days: span });
    const { total, days, keys, models, all } = await get(`${context.base}/usage${asked}`, context.signal);
    const ended = total.done + total.failed;
    return fill(main,
      head("Usage", "What jobs came to, on the UTC day on which they ended.",
        h("a", { class: "button", download: true, href: `/panel/api${context.base}/usage.csv${asked}` }, "Download CSV")),
      h("div", { class: "stack" },
        h("div", { class: "row end" }, spans(null, span, (chosen) => { span = chosen; again(); })),
        h("div", { class: "cards" },
          figure("Spent", [total.spent, h("small", {}, ` ${unit()}`)], `in ${span} days`),
          figure("Images", String(total.done), total.done ? `about ${(Number(total.spent) / total.done).toFixed(3)} ${unit()} each` : null),
          figure("Failed", String(total.failed), ended ? `${((100 * total.failed) / ended).toFixed(1)} % of ${ended}, not charged` : null)),
        h("div", { class: "halves" }, spentByModel(days), finished(days)),
        all ? null : notice("info", "The figures by model are of the newest 20,000 jobs. The CSV file has all of them."),
        h("div", { class: "halves" },
          sheet("By key", keys, { title: "Key", kind: "rest", cell: (it) => h("a", { class: "clip", href: `#/jobs?key=${it.key_id}` }, it.key_name ?? "deleted") }, (it) => it.key_id),
          sheet("By model", models, { title: "Model", cell: (it) => `${it.model} · ${it.resolution}` }, (it) => `${it.model} ${it.resolution}`))));
  };
  await draw();
  return again;
}
