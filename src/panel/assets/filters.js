// Filters of lists: selects, dates, and entries of the account.
import { h } from "./dom.js";
import { get, query } from "./api.js";

/** Longest list of options. */
const MOST = 1_000;

/** A choice of one. Options are [value, words]. */
export const select = (name, options, value, change) => h("select", { name, onchange: change },
  options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));

/** The first and the last moment of a day as a date field has it, in local time; nothing for no day. */
export const startOf = (text) => (text ? new Date(`${text}T00:00:00`).toISOString() : "");
export const endOf = (text) => (text ? new Date(`${text}T23:59:59.999`).toISOString() : "");

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
