// The ledger: deposits, adjustments and charges.
import { field, fill, h } from "./dom.js";
import { callPath, get, query } from "./api.js";
import { grouped, keyName, moment, money, shortId, unit } from "./format.js";
import { head } from "./shell.js";
import { UTC, days, filterBar, filtersOf, keepFilters, noneOf, select } from "./filters.js";
import { empty, listing, table } from "./lists.js";

const KINDS = { deposit: "Deposit", charge: "Charge", adjustment: "Adjustment" };

/** A refund is a deposit with a job. */
const kindOf = (it) => (it.kind === "deposit" && it.job_id ? "Refund" : KINDS[it.kind] ?? it.kind);

function jobOf(it) {
  const link = (words) => h("a", { class: "prompt clip", href: `#/jobs/${it.job_id}` }, words);
  if (!it.job) return link(shortId(it.job_id));
  return h("div", { class: "wrap" }, link(it.job.prompt ?? "A long prompt"),
    h("div", { class: "small muted" }, `${it.job.tier} · ${it.job.resolution} · key `, keyName(it.job)));
}

const signed = (text) => (text.startsWith("-") ? text.replace("-", "−") : `+${text}`);

const columns = [
  { title: "What", cell: (it) => h("div", {}, h("b", {}, kindOf(it)), it.reference ? h("div", { class: "small muted wrap" }, it.reference) : null) },
  { title: "Job", kind: "rest", cell: (it) => (it.job_id ? jobOf(it) : h("span", { class: "muted" }, "–")) },
  { title: "When", kind: "fit", cell: (it) => h("time", { datetime: it.created_at, title: it.created_at }, moment(it.created_at)) },
  { title: "Amount", kind: "num fit", amount: (it) => it.amount, cell: (it, digits) => h("span", { class: it.amount.startsWith("-") ? "" : "plus" }, signed(grouped(it.amount, digits))) },
  { title: "Balance after", kind: "num fit", amount: (it) => it.balance_after, cell: (it, digits) => grouped(it.balance_after, digits) },
];

export async function ledger(main, context) {
  const funds = h("p", { class: "muted" });
  const file = h("a", { class: "button", download: true }, "Download CSV");
  const filters = filtersOf(context.search, ["kind", "from", "to"]);
  const list = listing({ path: () => `${context.base}/transactions${query(filters)}`, context, show: (rows) => table(columns, rows, `Ledger, amounts in ${unit()}`, (it) => it.transaction_id),
    none: noneOf("ledger", () => filters, "entries", empty("No entries yet", "Deposits and charges appear here.")) });
  const link = () => file.setAttribute("href", callPath(`${context.base}/ledger.csv${query(filters)}`));
  const change = (name, value) => { filters[name] = value; keepFilters("ledger", filters); link(); list.restart(); };
  const balance = async () => {
    const account = await get(context.base, context.signal);
    fill(funds, `Balance ${money(account.balance)}: ${grouped(account.reserved)} reserved for jobs that have not ended, ${grouped(account.available)} available.`);
  };
  link();
  fill(main, head("Ledger", null, file),
    h("div", { class: "stack" }, funds,
      filterBar(() => filters, context.signal,
        field("Kind", select("kind", [["", "All"], ...Object.entries(KINDS)], filters.kind, (event) => change("kind", event.target.value))),
        days(["from", "to"], filters, change, UTC)),
      list.node));
  await Promise.all([balance(), list.begin()]);
  const reload = context.reloader(balance);
  return () => { reload(); list.load(); };
}
