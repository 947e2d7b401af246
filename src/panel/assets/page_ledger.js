// The ledger: every movement of money with the balance after it.
import { fill, h } from "./dom.js";
import { get } from "./api.js";
import { moment, money, shortId, unit } from "./format.js";
import { head } from "./shell.js";
import { empty, listing, table } from "./lists.js";

const KINDS = { deposit: "Deposit", charge: "Charge", adjustment: "Adjustment" };

const columns = [
  { title: "What", cell: (it) => h("div", {}, h("b", {}, KINDS[it.kind] ?? it.kind), h("div", { class: "small muted wrap" }, it.reference ?? "")) },
  { title: "Job", kind: "fit", cell: (it) => it.job_id ? h("a", { href: `#/jobs/${it.job_id}` }, shortId(it.job_id)) : "–" },
  { title: "When", kind: "fit", cell: (it) => h("time", { datetime: it.created_at, title: it.created_at }, moment(it.created_at)) },
  { title: "Amount", kind: "num fit", cell: (it) => h("span", { class: it.amount.startsWith("-") ? "" : "plus" }, it.amount.startsWith("-") ? it.amount.replace("-", "−") : `+${it.amount}`) },
  { title: "Balance after", kind: "num fit", cell: (it) => it.balance_after },
];

export async function ledger(main, context) {
  const funds = h("p", { class: "muted" });
  const list = listing({ path: `${context.base}/transactions`, signal: context.signal, show: (rows) => table(columns, rows, `Ledger, amounts in ${unit()}`),
    none: empty("Nothing yet", "Deposits and charges appear here.") });
  const load = async () => {
    const [account] = await Promise.all([get(context.base, context.signal), list.load()]);
    fill(funds, `${money(account.balance)} balance, of which ${account.reserved} are reserved for jobs under way; ${account.available} can be spent.`);
  };
  fill(main, head("Ledger", null, h("a", { class: "button", href: `/panel/api${context.base}/ledger.csv`, download: true }, "Download CSV")),
    h("div", { class: "stack" }, funds, list.node));
  await load();
  return load;
}
