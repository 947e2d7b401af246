// The audit log, for the operator.
import { field, fill, h } from "./dom.js";
import { query } from "./api.js";
import { moment, shortId } from "./format.js";
import { head } from "./shell.js";
import { date, endOf, filtersOf, keepFilters, options, select, startOf } from "./filters.js";
import { empty, listing, table } from "./lists.js";

const KINDS = [["", "All"], ["account", "Accounts"], ["deposit", "Deposits"], ["key", "API keys"], ["webhook", "Webhooks"], ["delivery", "Deliveries"],
  ["job", "Jobs"], ["batch", "Batches"], ["person", "People"], ["session", "Sessions"], ["pause", "Pauses"]];

const WORDS = {
  "account.create": "Account opened", "account.change": "Account changed", "batch.create": "Batch submitted", "batch.cancel": "Batch canceled", "deposit.create": "Funds added",
  "key.create": "Key created", "key.change": "Key changed", "key.rotate": "Key rotated", "key.delete": "Key deleted",
  "webhook.create": "Webhook registered", "webhook.change": "Webhook changed", "webhook.rotate_secret": "Webhook secret rotated", "webhook.delete": "Webhook deleted", "webhook.test": "Test delivery sent",
  "delivery.redeliver": "Delivery sent again", "pause.change": "Pause changed", "job.create": "Image requested", "job.cancel": "Job canceled",
  "person.invite": "Person invited", "person.invite_again": "New link created", "person.join": "Invitation accepted", "person.change": "Role changed",
  "person.change_password": "Password changed", "person.remove": "Person removed",
  "session.begin": "Signed in", "session.end": "Signed out", "session.end_all": "Signed out everywhere",
};

/** Formats a value: times in local time, lists with commas. */
function formatted(value) {
  if (Array.isArray(value)) return value.map(formatted).join(", ");
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? moment(value) : String(value);
}

/** The fields that have a value; nested fields are named by their path. */
function flat(value, prefix = "", fields = new Map()) {
  for (const [name, it] of Object.entries(value ?? {})) {
    if (it === null) continue;
    if (typeof it === "object" && !Array.isArray(it)) flat(it, `${prefix}${name}.`, fields);
    else if (formatted(it) !== "") fields.set(prefix + name, formatted(it));
  }
  return fields;
}

/** The changed fields. */
function changes(entry) {
  const [before, after] = [flat(entry.before), flat(entry.after)];
  const names = [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name));
  const side = (value) => value ?? "–";
  return h("dl", { class: "changes" }, names.map((name) => h("div", {}, h("dt", {}, name.replace(/[_.]/g, " ")),
    h("dd", {}, entry.before ? [h("s", {}, side(before.get(name))), entry.after ? " → " : null] : null, entry.after ? side(after.get(name)) : null))));
}

/** The person; a removed one is shown by id. */
const person = (it) => it.person_email ?? ["a person, ", shortId(it.person_id)];
const who = (it) => h("div", { class: "wrap" }, h("b", {}, it.person_id ? h("a", { href: `#/audit?person_id=${it.person_id}`, title: "Changes by this person" }, person(it)) : it.actor), it.address ? h("div", { class: "small muted" }, it.address) : null);

/** The page of the subject, if it exists. */
const PLACES = { key: "keys", job: "jobs" };
function about(it, context) {
  const [kind] = it.action.split(".");
  const place = PLACES[kind] && it.after ? `#/${PLACES[kind]}/${it.subject_id}` : kind === "delivery" ? `#/deliveries?open=${it.subject_id}` : kind === "key" ? "#/keys" : kind === "webhook" ? "#/webhooks" : kind === "person" ? "#/people" : kind === "deposit" ? "#/ledger" : "#/overview";
  return h("div", { class: "wrap" },
    it.account_id ? h("button", { class: "link", type: "button", onclick: () => context.visit(it.account_id, place) }, h("span", { class: "clip" }, it.account_name ?? "an account")) : "the service",
    it.subject_id && it.subject_id !== it.account_id ? h("div", { class: "small muted" }, shortId(it.subject_id)) : null);
}

export async function audit(main, context) {
  const wanted = filtersOf(context.search, ["account_id", "person_id", "action", "from", "to"]);
  const accounts = await options("/accounts", context.signal, (it) => [it.account_id, it.name.slice(0, 40)], wanted.account_id);
  const columns = [
    { title: "What", cell: (it) => h("div", {}, h("b", {}, WORDS[it.action] ?? it.action), h("div", { class: "small muted" }, h("time", { datetime: it.at, title: `${it.at}, request ${it.request_id ?? "unknown"}` }, moment(it.at)))) },
    { title: "Who", cell: who },
    { title: "About", cell: (it) => about(it, context) },
    { title: "Change", kind: "wide", cell: changes },
  ];
  const list = listing({ path: () => `/audit${query(wanted)}`, context, show: (rows) => table(columns, rows, "Audit log", (it) => it.audit_id, "tops"),
    none: empty("No entries", "Every change is recorded here.") });
  const set = (name, value) => { wanted[name] = value; keepFilters("audit", wanted); list.restart(); };
  const change = ({ target }) => set(target.name, target.value);
  fill(main, head("Audit log", "Who changed what in the panel, the command line and the operator API, newest first. Entries are never changed."),
    h("div", { class: "filters" },
      field("Account", select("account_id", accounts, wanted.account_id, change)),
      wanted.person_id ? field("Person", select("person_id", [["", "All"], [wanted.person_id, `…${wanted.person_id.slice(-8)}`]], wanted.person_id, change)) : null,
      field("Kind", select("action", KINDS, wanted.action, change)), field("From", date("from", startOf, wanted.from, set)), field("To", date("to", endOf, wanted.to, set))),
    list.node);
  await list.begin();
  return list.load;
}
