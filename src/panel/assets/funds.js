// The dialog with which the operator adds funds to an account.
import { field, h } from "./dom.js";
import { post } from "./api.js";
import { money, unit } from "./format.js";
import { submitOf } from "./drafts.js";
import { dialog, toast } from "./dialogs.js";

/** Opens the dialog. A repeated submit after a lost answer adds funds once. */
export function addFunds(account) {
  const path = `/accounts/${account.account_id}/deposits`;
  const submit = submitOf(path);
  return dialog({ title: `Add funds to ${account.name}`, text: `Balance: ${money(account.balance)}. Use a negative amount to correct a deposit.`, confirm: "Add funds",
    fields: [field(`Amount (${unit()})`, h("input", { name: "amount", inputmode: "decimal", required: true, placeholder: "25.00", autocomplete: "off" })),
      field("Reference", h("input", { name: "reference", placeholder: "invoice 17", autocomplete: "off" }), "Shown in the ledger.")],
    submit: async (data) => {
      const asked = { amount: data.get("amount").trim(), reference: data.get("reference").trim() || null };
      const entry = await submit(JSON.stringify(asked), (headers) => post(path, asked, headers));
      const done = entry.amount.startsWith("-") ? `${money(entry.amount.slice(1))} deducted.` : "Funds added.";
      toast(`${done} The balance is ${money(entry.balance_after)}.`);
    } });
}
