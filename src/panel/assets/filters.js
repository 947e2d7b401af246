// Filters of lists: selects, dates, words, and entries of the account.
import { field, fieldError, h, showFaults } from "./dom.js";
import { get, query } from "./api.js";
import { notice } from "./dialogs.js";
import { time } from "./format.js";
import { empty } from "./lists.js";

/** Writes the filters into the URL, so that Back, a reload and a shared link show the same list. */
export const keepFilters = (page, values) => history.replaceState(history.state, "", `#/${page}${query(values)}`);

export const filtersOf = (search, names) => Object.fromEntries(names.map((name) => [name, search.get(name) ?? ""]));

const NARROW = matchMedia("(max-width: 640px)");

/** The filter bar, folded on a phone. `values` returns the current filters. */
export function filterBar(values, signal, ...fields) {
  const count = () => Object.values(values()).filter(Boolean).length;
  const words = h("summary", {});
  const name = () => { words.textContent = count() ? `Filters (${count()})` : "Filters"; };
  // The page applies the change first.
  const box = h("details", { class: "filters", onchange: () => setTimeout(name) }, words, h("div", { class: "filter-row" }, fields));
  const fold = () => { box.open = !NARROW.matches; };
  NARROW.addEventListener("change", fold, { signal });
  fold();
  name();
  return box;
}

/** Options beyond this number are not loaded. */
const MAX_OPTIONS = 1_000;

/** Options are [value, label]. */
export const select = (name, options, value, change) => h("select", { name, onchange: change },
  options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A search field for prompts; `change` gets the words, which may be parts of words. A job id opens the job. */
export function search(value, change) {
  const submit = ({ target }) => {
    const words = target.value.trim();
    if (ID.test(words)) location.hash = `#/jobs/${words.toLowerCase()}`;
    else change(words);
  };
  return field("Search", h("input", { type: "search", name: "prompt", value, maxlength: 200, placeholder: "Text, or a job id", autocomplete: "off", onchange: submit }));
}

/** A notice while the search index is being built. */
export const indexNote = ({ index_behind: behind }) => (behind ? notice("info",
  behind.until ? ["The search index contains the jobs up to ", time(behind.until), ". "] : "The search index contains no jobs of this account yet. ",
  "Other jobs are read one by one, so a search may take several steps.") : null);

/** The day of a time, for a date field. `offset` is the distance from UTC in minutes. */
function dayOf(text, offset) {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "" : new Date(at.getTime() - offset(at) * 60_000).toISOString().slice(0, 10);
}

/** The first and the last moment of the day of a date field, and the day of a moment: in local time, and in UTC. */
const LOCAL = {
  start: (day) => new Date(`${day}T00:00:00`).toISOString(), end: (day) => new Date(`${day}T23:59:59.999`).toISOString(),
  day: (text) => dayOf(text, (at) => at.getTimezoneOffset()), zone: "",
};
export const UTC = { start: (day) => `${day}T00:00:00.000Z`, end: (day) => `${day}T23:59:59.999Z`, day: (text) => dayOf(text, () => 0), zone: " (UTC)" };
/** The days themselves. */
export const UTC_DAYS = { ...UTC, start: (day) => day, end: (day) => day };

/**
 * The fields of the first and the last day, named `from` and `to`; `change` gets the name of a changed field and its time. A range that
 * ends before it begins, or has more days than `most`, is an error at the changed field, and changes nothing.
 */
export function days([from, to], values, change, of = LOCAL, most = Infinity) {
  const applied = { [from]: values[from], [to]: values[to] };
  function check({ target }) {
    const wanted = { [from]: first.value && of.start(first.value), [to]: last.value && of.end(last.value) };
    const isReversed = first.value && last.value && first.value > last.value;
    const end = last.value ? Date.parse(last.value) : Date.now();
    const isLong = Math.floor((end - Date.parse(first.value)) / 86_400_000) >= most;
    const message = isLong ? `The range may have at most ${most} days.` : target === first ? "Must not be after the last day." : "Must not be before the first day.";
    showFaults(node, isReversed || isLong ? fieldError(target.name, message) : null);
    if (isReversed || isLong) return;
    for (const name of [from, to]) {
      if (applied[name] === wanted[name]) continue;
      applied[name] = wanted[name];
      change(name, wanted[name]);
    }
  }
  const date = (name) => h("input", { type: "date", name, value: of.day(values[name]), onchange: check });
  const [first, last] = [date(from), date(to)];
  const node = h("div", { class: "days" }, field(`From${of.zone}`, first), field(`To${of.zone}`, last));
  return node;
}

/** What an empty list shows: `none`, or a way to clear the filters if one is set. `page` is the path of the list. */
export const noneOf = (page, values, things, none) => () => (Object.values(values()).some(Boolean)
  ? empty(`No ${things} match the filters`, null, h("a", { class: "button", href: `#/${page}` }, "Clear filters")) : none);

/**
 * Loads all pages of a list as options; `option` maps an entry to [value, label]. The chosen option is always included, even if its
 * entry was deleted.
 */
export async function options(path, signal, option, chosen) {
  const found = [];
  let cursor = null;
  do {
    const page = await get(`${path}${query({ limit: 100, cursor })}`, signal);
    found.push(...page.data.map(option));
    cursor = page.next_cursor;
  } while (cursor && found.length < MAX_OPTIONS);
  // Names need not be unique.
  const named = (name) => found.filter(([, it]) => it === name).length;
  const unique = found.map(([id, name]) => [id, name !== undefined && named(name) > 1 ? `${name} …${id.slice(-8)}` : name]);
  const words = cursor ? `…${chosen?.slice(-8)}` : `…${chosen?.slice(-8)} (deleted)`;
  return [["", "All"], ...unique, ...(chosen && !found.some(([id]) => id === chosen) ? [[chosen, words]] : [])];
}
