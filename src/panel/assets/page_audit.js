// The audit log page of the operator.
import { field, fill, h } from "./dom.js";
import { query } from "./api.js";
import { moment, money, shortId } from "./format.js";
import { head } from "./shell.js";
import { days, filterBar, filtersOf, keepFilters, noneOf, options, select } from "./filters.js";
import { empty, listing, table } from "./lists.js";

const KINDS = [["", "All"], ["account", "Accounts"], ["deposit", "Deposits"], ["key", "API keys"], ["webhook", "Webhooks"], ["delivery", "Deliveries"],
  ["job", "Jobs"], ["batch", "Batches"], ["person", "People"], ["session", "Sessions"], ["pause", "Pauses"]];

/** The words of each action: before the subject, and between subject and account (by default "of", or "in" without a subject). */
const WORDS = {
  "account.create": ["opened the account"], "account.change": ["changed the account"], "account.erase": ["erased the account"], "batch.create": ["submitted the batch"], "batch.cancel": ["canceled the batch"], "deposit.create": ["deposited", "for"],
  "key.create": ["created the key"], "key.change": ["changed the key"], "key.rotate": ["rotated the key"], "key.delete": ["deleted the key"],
  "webhook.create": ["registered the webhook"], "webhook.change": ["changed the webhook"], "webhook.rotate_secret": ["rotated the secret of the webhook"],
  "webhook.delete": ["deleted the webhook"], "webhook.test": ["sent a test to the webhook"], "delivery.redeliver": ["redelivered the delivery to"],
  "job.create": ["requested the image"], "job.cancel": ["canceled the job"], "job.delete_image": ["deleted the image of the job"], "job.erase": ["erased the content of the job"],
  "person.invite": ["invited", "to"], "person.invite_again": ["created a new link for", "in"], "person.join": ["accepted the invitation as", "in"], "person.change": ["changed the role of", "in"],
  "person.change_password": ["changed the password"], "person.remove": ["removed", "from"],
  "session.begin": ["signed in", "to"], "session.end": ["signed out", "of"], "session.end_all": ["ended all sessions", "in"],
};
/** Actions without a subject, or whose subject is the account. */
const WHOLE = ["account.create", "account.change", "account.erase", "person.change_password", "session.begin", "session.end"];

/** "fast", "fast and pro", "fast, quality and pro". */
const listed = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}` : names[0]);

/** What a change of the pauses switched on and off. */
function pauseWords({ before, after }) {
  const switches = (it) => ({ everything: it?.project ?? false, ...it?.tiers,
    ...Object.fromEntries((it?.backends ?? []).map((name) => [`backend ${name}`, true])) });
  const [old, now] = [switches(before), switches(after)];
  const changed = (on) => Object.keys({ ...old, ...now }).filter((name) => Boolean(now[name]) === on && Boolean(old[name]) !== on);
  const parts = [["paused", changed(true)], ["resumed", changed(false)]].filter(([, names]) => names.length);
  return parts.map(([verb, names]) => `${verb} ${listed(names)}`).join(" and ") || "changed the reason of a pause";
}

/** Formats a value: times in local time, lists with commas. */
function formatted(value) {
  if (Array.isArray(value)) return value.map(formatted).join(", ");
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? moment(value) : String(value);
}

/** Maps field paths to values; skips empty values. */
function flat(value, prefix = "", fields = new Map()) {
  for (const [name, it] of Object.entries(value ?? {})) {
    if (it === null) continue;
    if (typeof it === "object" && !Array.isArray(it)) flat(it, `${prefix}${name}.`, fields);
    else if (formatted(it) !== "") fields.set(prefix + name, formatted(it));
  }
  return fields;
}

function changes(entry) {
  const [before, after] = [flat(entry.before), flat(entry.after)];
  const names = [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name));
  const side = (value) => value ?? "–";
  return h("dl", { class: "changes" }, names.map((name) => h("div", {}, h("dt", {}, name.replace(/[_.]/g, " ")),
    h("dd", {}, entry.before ? [h("s", {}, side(before.get(name))), entry.after ? " → " : null] : null, entry.after ? side(after.get(name)) : null))));
}

/** The email address; a removed person is shown by id. */
const person = (it) => it.person_email ?? ["a person, ", shortId(it.person_id)];
const who = (it) => h("b", { class: "wrap" }, it.person_id ? h("a", { href: `#/audit?person_id=${it.person_id}`, title: "Changes by this person" }, person(it))
  : it.actor === "operator" ? "The operator" : "The service");

const PAGES = { key: "keys", job: "jobs", batch: "batches" };
/** The link to the subject. */
function linkTo(it) {
  const [kind] = it.action.split(".");
  if (PAGES[kind] && it.after) return `#/${PAGES[kind]}/${it.subject_id}`;
  return { delivery: `#/deliveries?open=${it.subject_id}`, key: "#/keys", webhook: "#/webhooks", person: "#/people", deposit: "#/ledger" }[kind] ?? "#/overview";
}

function subjectName(it) {
  const of = (name) => it.after?.[name] ?? it.before?.[name];
  const name = of("name") ?? of("url") ?? of("email") ?? it.subject_email ?? (it.action.startsWith("deposit") && of("amount") ? money(of("amount")) : null);
  return name ?? (it.subject_id ? ["…", it.subject_id.slice(-8)].join("") : "");
}

function wordsOf(it) {
  if (it.action === "pause.change") return [pauseWords(it)];
  if (it.action === "deposit.create" && it.after?.amount?.startsWith("-")) return ["adjusted the balance by", "for"];
  if (it.action === "deposit.create" && it.after?.job_id) return ["refunded", "to"];
  return WORDS[it.action] ?? [it.action];
}

/** Whether the sentence names the subject. A person who signed out everywhere is named once, as the actor. */
function hasSubject(it) {
  if (it.action === "session.end_all") return Boolean(it.subject_id) && it.subject_id !== it.person_id;
  return it.action !== "pause.change" && !WHOLE.includes(it.action);
}

function sentence(it, context) {
  const [before, between] = wordsOf(it);
  // A link, because a button does not break like text: the full stop would stand alone after a long name.
  const visit = (words) => h("a", { href: linkTo(it), class: "subject", onclick: (event) => { event.preventDefault(); context.visit(it.account_id, linkTo(it)); } }, h("b", { class: "wrap" }, words));
  const subject = !hasSubject(it) ? null : it.account_id ? [it.action === "session.end_all" ? " of " : " ", visit(subjectName(it))] : [" ", h("b", {}, subjectName(it))];
  const own = it.action.startsWith("account.");
  const account = it.account_id ? [own ? " " : ` ${between ?? (subject ? "of" : "in")} `, visit(it.account_name ?? it.after?.name ?? "an account")] : null;
  return h("p", { class: "wrap" }, who(it), " ", before, subject, account, ".");
}

/** The sentence of an entry, with its changes in a collapsed section. */
function entry(it, context, open) {
  const id = it.audit_id;
  return h("div", {}, sentence(it, context),
    h("details", { class: "unfold", open: open.has(id), ontoggle: ({ target }) => (target.open ? open.add(id) : open.delete(id)) },
      h("summary", { class: "small muted" }, h("time", { datetime: it.at, title: it.at }, moment(it.at)), " · details"),
      changes(it),
      h("p", { class: "small muted wrap" }, [it.address && `from ${it.address}`, `request ${it.request_id ?? "unknown"}`].filter(Boolean).join(" · "))));
}

export async function audit(main, context) {
  const filters = filtersOf(context.search, ["account_id", "person_id", "action", "from", "to"]);
  const accounts = await options("/accounts", context.signal, (it) => [it.account_id, it.name.slice(0, 40)], filters.account_id);
  /** Entries whose details are open, kept over a redraw. */
  const open = new Set();
  const columns = [{ title: "What happened", cell: (it) => entry(it, context, open) }];
  const list = listing({ path: () => `/audit${query(filters)}`, context, show: (rows) => table(columns, rows, "Audit log", (it) => it.audit_id, "tops"),
    none: noneOf("audit", () => filters, "entries", empty("No entries", "Every change is recorded here.")) });
  const set = (name, value) => { filters[name] = value; keepFilters("audit", filters); list.restart(); };
  const change = ({ target }) => set(target.name, target.value);
  fill(main, head("Audit log", "Who changed what in the panel, the command line and the operator interface, newest first. Entries are never changed."),
    filterBar(() => filters, context.signal,
      field("Account", select("account_id", accounts, filters.account_id, change)),
      filters.person_id ? field("Person", select("person_id", [["", "All"], [filters.person_id, `…${filters.person_id.slice(-8)}`]], filters.person_id, change)) : null,
      field("Kind", select("action", KINDS, filters.action, change)), days(["from", "to"], filters, set)),
    list.node);
  await list.begin();
  return list.load;
}
