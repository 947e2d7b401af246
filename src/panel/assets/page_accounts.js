// The accounts page of the operator.
import { field, fieldError, fill, h } from "./dom.js";
import { call, get, post, query } from "./api.js";
import { badge, moment, shortId, time, unit } from "./format.js";
import { submitOf } from "./drafts.js";
import { head } from "./shell.js";
import { attempt, changeDialog, dialog, followUp } from "./dialogs.js";
import { addFunds } from "./funds.js";
import { filterBar, filtersOf, keepFilters, noneOf, select } from "./filters.js";
import { empty, listing, table } from "./lists.js";
import { accountLimitFields, checkCounts, readAccountLimits, sendLimits } from "./limits.js";
import { menu } from "./menu.js";

const SORTS = [["", "Oldest first"], ["name", "Name"], ["lowest_balance", "Lowest balance"], ["highest_balance", "Highest balance"]];

const lowBalance = (amount) => field(`Low balance (${unit()})`,
  h("input", { name: "low_balance", inputmode: "decimal", placeholder: "none", autocomplete: "off", value: amount ?? "" }), "When less is available, the account's people see a warning.");

export async function accounts(main, context) {
  // A repeated submit after a lost answer opens one account.
  const submitAccount = submitOf("/accounts");
  /** Warns once of a name that another account has. */
  async function checkName(name, checked) {
    if (!name || checked.has(name)) return;
    const { data: [other] } = await get(`/accounts${query({ name, limit: 1 })}`);
    checked.add(name);
    if (other) throw fieldError("name", `The account …${other.account_id.slice(-8)}, opened ${moment(other.created_at)}, has this name. Choose another name, or submit again to open a second account with it.`);
  }
  const open = (checked = new Set()) => dialog({ title: "New account", confirm: "Open account",
    fields: [field("Name", h("input", { name: "name", required: true, maxlength: 200, autocomplete: "off" })),
      field(`Opening balance (${unit()})`, h("input", { name: "balance", inputmode: "decimal", placeholder: "0.00", autocomplete: "off" })),
      lowBalance(null), accountLimitFields(null)],
    submit: async (data) => {
      await checkName(data.get("name"), checked);
      const asked = { name: data.get("name"), balance: data.get("balance").trim() || null, low_balance: data.get("low_balance").trim() || null, limits: readAccountLimits(data) };
      checkCounts(asked.limits);
      return sendLimits(() => submitAccount(JSON.stringify(asked), (headers) => post("/accounts", asked, headers)));
    } }).then((opened) => {
    // The account may be far down the list, and another one is open.
    if (opened) followUp(`“${opened.name}” was opened.`, "Open account", () => choose(opened));
    return list.load();
  });
  const deposit = (account) => addFunds(account).then(list.load);
  const path = (account) => `/accounts/${account.account_id}`;
  const edit = (account) => changeDialog({ title: "Edit account",
    fields: [field("Name", h("input", { name: "name", required: true, maxlength: 200, autocomplete: "off", value: account.name })), lowBalance(account.low_balance), accountLimitFields(account.limits)],
    read: (data) => ({ name: data.get("name"), low_balance: data.get("low_balance").trim() || null, ...readAccountLimits(data) }),
    check: checkCounts,
    send: ({ name, low_balance, ...limits }) => {
      const wanted = { name, low_balance, limits: Object.keys(limits).length ? limits : undefined };
      return sendLimits(() => call("PATCH", path(account), wanted));
    } }).then((changed) => (changed && context.renamed(changed) ? null : list.load()));
  const deactivate = (account) => dialog({ title: `Deactivate “${account.name}”?`, confirm: "Deactivate", danger: true, success: "Deactivated",
    text: "Its keys stop working now, and its people have read-only access. Accepted jobs still run.",
    submit: () => call("PATCH", path(account), { active: false }) }).then(list.load);
  const activate = (account) => attempt(() => call("PATCH", path(account), { active: true }), "Activated", list.load);
  const isOff = (account) => account.active === false;
  const slim = (text, work, name) => h("button", { class: "button slim", type: "button", "aria-label": `${text} ${name}`, onclick: work }, text);
  const choose = (account) => context.choose({ id: account.account_id, name: account.name, active: account.active });
  const columns = [
    { title: "Name", kind: "rest", cell: (it) => h("span", { class: "row wraps" },
      h("a", { class: "link", href: `#/accounts/${it.account_id}`, title: it.name }, h("b", { class: "clip" }, it.name)), it.shares_name ? shortId(it.account_id) : null, isOff(it) ? badge("inactive") : null, it.low ? badge("low", "low balance") : null) },
    { title: "Balance", kind: "num fit", amount: (it) => it.balance },
    { title: "Available", kind: "num fit", amount: (it) => it.available },
    { title: "Opened", kind: "fit", cell: (it) => time(it.created_at) },
    { title: "", kind: "fit", cell: (it) => h("span", { class: "row end" }, slim("Add funds", () => deposit(it), `to ${it.name}`),
      menu(`More actions for ${it.name}`, [["Open", () => choose(it)], ["Edit", () => edit(it)],
        isOff(it) ? ["Activate", () => activate(it)] : ["Deactivate", () => deactivate(it), "danger"]])) },
  ];
  const filters = filtersOf(context.search, ["search", "sort"]);
  const list = listing({ path: () => `/accounts${query(filters)}`, context, size: 100, show: (rows) => table(columns, rows, "Accounts", (it) => it.account_id),
    none: noneOf("accounts", () => ({ search: filters.search }), "accounts", empty("No accounts yet", "An account holds the balance, the keys and the images.")) });
  const change = ({ target }) => { filters[target.name] = target.value.trim(); keepFilters("accounts", filters); list.restart(); };
  fill(main, head("Accounts", "Billing accounts. Open one to manage it.", h("button", { class: "button main", type: "button", onclick: () => open() }, "New account")),
    h("div", { class: "stack" }, filterBar(() => filters, context.signal,
      field("Search", h("input", { type: "search", name: "search", value: filters.search, maxlength: 200, placeholder: "Part of a name or id", autocomplete: "off", onchange: change })),
      field("Sort", select("sort", SORTS, filters.sort, change))), list.node));
  await list.begin();
  return list.load;
}
