// All accounts, for the operator: opened, chosen, renamed, switched off, and given money.
import { field, fill, h } from "./dom.js";
import { call, post } from "./api.js";
import { badge, money, time, unit } from "./format.js";
import { presses } from "./presses.js";
import { head } from "./shell.js";
import { attempt, dialog, toast } from "./dialogs.js";
import { empty, listing, table } from "./lists.js";

export async function accounts(main, context) {
  // Money is booked once, however often a button is pressed while the network is away.
  const [opening, booking] = [presses(), presses()];
  const open = () => dialog({ title: "New account", confirm: "Open account",
    fields: [field("Name", h("input", { name: "name", required: true, maxlength: 200, autocomplete: "off" })),
      field(`Opening balance (${unit()})`, h("input", { name: "balance", inputmode: "decimal", placeholder: "0.00", autocomplete: "off" }))],
    submit: (data) => {
      const asked = { name: data.get("name"), balance: data.get("balance").trim() || null };
      return opening(JSON.stringify(asked), (headers) => post("/accounts", asked, headers));
    } }).then(list.load);
  const deposit = (account) => dialog({ title: `Deposit to ${account.name}`, text: `${money(account.balance)} now. A negative amount corrects one.`, confirm: "Book it",
    fields: [field(`Amount (${unit()})`, h("input", { name: "amount", inputmode: "decimal", required: true, placeholder: "25.00", autocomplete: "off" })),
      field("Reference", h("input", { name: "reference", placeholder: "invoice 17", autocomplete: "off" }), "Shown in the ledger.")],
    submit: async (data) => {
      const path = `/accounts/${account.account_id}/deposits`;
      const asked = { amount: data.get("amount").trim(), reference: data.get("reference").trim() || null };
      const entry = await booking(path + JSON.stringify(asked), (headers) => post(path, asked, headers));
      toast(`Booked; the balance is ${money(entry.balance_after)}`);
    } }).then(list.load);
  const path = (account) => `/accounts/${account.account_id}`;
  const rename = (account) => dialog({ title: "Rename account", confirm: "Rename",
    fields: [field("Name", h("input", { name: "name", required: true, maxlength: 200, autocomplete: "off", value: account.name }))],
    submit: (data) => call("PATCH", path(account), { name: data.get("name") }) }).then((changed) => (changed && context.renamed(changed) ? null : list.load()));
  const turnOff = (account) => dialog({ title: `Switch off “${account.name}”?`, confirm: "Switch off", danger: true,
    text: "Its keys are refused from now on, and its people can look but change nothing. Jobs that were accepted go on to their end.",
    submit: () => call("PATCH", path(account), { active: false }) }).then(list.load);
  const turnOn = (account) => attempt(() => call("PATCH", path(account), { active: true }), "Switched on", list.load);
  const isOff = (account) => account.active === false;
  const slim = (text, work, name) => h("button", { class: "button slim", type: "button", "aria-label": `${text} ${name}`, onclick: work }, text);
  const choose = (account) => context.choose({ id: account.account_id, name: account.name });
  const columns = [
    { title: "Name", cell: (it) => h("span", { class: "row" },
      h("button", { class: "link", type: "button", onclick: () => choose(it) }, h("b", { class: "clip" }, it.name)), isOff(it) ? badge("inactive") : null) },
    { title: "Balance", kind: "num fit", cell: (it) => money(it.balance) },
    { title: "Available", kind: "num fit", cell: (it) => money(it.available) },
    { title: "Opened", kind: "fit", cell: (it) => time(it.created_at) },
    { title: "", kind: "fit", cell: (it) => h("span", { class: "row" },
      slim("Deposit", () => deposit(it), `to ${it.name}`), slim("Rename", () => rename(it), it.name),
      isOff(it) ? slim("Switch on", () => turnOn(it), it.name) : slim("Switch off", () => turnOff(it), it.name),
      slim("Open", () => choose(it), it.name)) },
  ];
  const list = listing({ path: "/accounts", context, show: (rows) => table(columns, rows, "Accounts", (it) => it.account_id), none: empty("No accounts yet", "An account has the money, the keys and the pictures.") });
  fill(main, head("Accounts", "Who pays. Open one to see and do everything on its behalf.", h("button", { class: "button main", type: "button", onclick: open }, "New account")), list.node);
  await list.begin();
  return list.load;
}
