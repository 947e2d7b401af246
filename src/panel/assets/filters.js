// Filters of lists: selects, dates, words, and entries of the account.
import { field, h } from "./dom.js";
import { get, query } from "./api.js";
import { notice } from "./dialogs.js";
import { time } from "./format.js";

/** Writes the filters of a page into its address: Back, a reload and a shared link then show the same list. */
export const keepFilters = (page, values) => history.replaceState(history.state, "", `#/${page}${query(values)}`);

/** The filters of these names in an address. */
export const filtersOf = (search, names) => Object.fromEntries(names.map((name) => [name, search.get(name) ?? ""]));

const NARROW = matchMedia("(max-width: 640px)");

/** The filters of a page, folded on a phone. `values` gives those that are set. */
export function filterBar(values, signal, ...fields) {
  const count = () => Object.values(values()).filter(Boolean).length;
  const words = h("summary", {});
  const name = () => { words.textContent = count() ? `Filters (${count()})` : "Filters"; };
  // After the page has taken the change.
  const box = h("details", { class: "filters", onchange: () => setTimeout(name) }, words, h("div", { class: "filter-row" }, fields));
  const fold = () => { box.open = !NARROW.matches; };
  NARROW.addEventListener("change", fold, { signal });
  fold();
  name();
  return box;
}

/** Longest list of options. */
const MOST = 1_000;

/** A choice of one. Options are [value, words]. */
export const select = (name, options, value, change) => h("select", { name, onchange: change },
  options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A field for words of a prompt; `change` takes them. A job id leads to its job. */
export function search(value, change) {
  const take = ({ target }) => {
    const words = target.value.trim();
    if (ID.test(words)) location.hash = `#/jobs/${words.toLowerCase()}`;
    else change(words);
  };
  return field("Search", h("input", { type: "search", name: "prompt", value, maxlength: 200, placeholder: "Words, or a job id", autocomplete: "off", onchange: take }));
}

/** A remark on a page of a search while the search index is still being built. */
export const indexNote = ({ index_behind: behind }) => (behind ? notice("info",
  behind.until ? ["The search index has the jobs up to ", time(behind.until), ". "] : "The search index has no jobs of this account yet. ",
  "Later ones are read one by one, so a search may take several steps.") : null);

/** The first and the last moment of a day as a date field has it, in local time; nothing for no day. */
export const startOf = (text) => (text ? new Date(`${text}T00:00:00`).toISOString() : "");
export const endOf = (text) => (text ? new Date(`${text}T23:59:59.999`).toISOString() : "");

/** The day of a moment, as a date field has it. */
function dayOf(text) {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "" : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

/** A date field whose value is a moment of that day: `of` is `startOf` or `endOf`. */
export const date = (name, of, value, change) => h("input", { type: "date", name, value: dayOf(value), onchange: (event) => change(name, of(event.target.value)) });

/**
 * The options of a list behind a path, all pages of it; `option` makes one of an entry. The one that is chosen is among them in
 * any case: what it names may be deleted.
 */
export async function options(path, signal, option, chosen) {
  const found = [];
  let cursor = null;
  do {
    const page = await get(`${path}${query({ limit: 100, cursor })}`, signal);
    found.push(...page.data.map(option));
    cursor = page.next_cursor;
  } while (cursor && found.length < MOST);
  const words = cursor ? `…${chosen?.slice(-8)}` : `…${chosen?.slice(-8)} (deleted)`;
  return [["", "All"], ...found, ...(chosen && !found.some(([id]) => id === chosen) ? [[chosen, words]] : [])];
}
