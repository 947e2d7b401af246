// The dialogs with which the operator adds funds to an account and refunds a job.
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

/** Opens the dialog that refunds a job. A repeated submit after a lost answer refunds once. Resolves once the dialog is closed. */
export function refund(job) {
  const path = `/accounts/${job.account_id}/deposits`;
  const submit = submitOf(`${path} ${job.job_id}`);
  const before = job.refunded ? ` ${money(job.refunded)} was refunded before.` : "";
  return dialog({ title: "Refund this job?", confirm: "Refund", text: `${money(job.price)} was charged.${before} The amount is added to the balance of the account, and its people see it in the ledger.`,
    fields: [field(`Amount (${unit()})`, h("input", { name: "amount", inputmode: "decimal", required: true, value: job.refundable, autocomplete: "off" })),
      field("Reference", h("input", { name: "reference", placeholder: "the image was unusable", autocomplete: "off" }), "Shown in the ledger.")],
    submit: async (data) => {
      const asked = { amount: data.get("amount").trim(), reference: data.get("reference").trim() || null, job_id: job.job_id };
      const entry = await submit(JSON.stringify(asked), (headers) => post(path, asked, headers));
      toast(`${money(entry.amount)} refunded.`);
    } });
}
