// Tables and paged lists.
import { fill, h } from "./dom.js";
import { get } from "./api.js";
import { isGrid, onRowsChange } from "./density.js";
import { notice } from "./dialogs.js";
import { decimalsOf, minute, money } from "./format.js";

/** A search without a match reads on for as many pages or milliseconds, and then asks. */
const MAX_PAGES = 50;
const MAX_TIME = 10_000;

/** The time of a cursor: the id of the last entry that was read, whose first 48 bits are its time. */
const timeOf = (cursor) => minute(parseInt(cursor.slice(0, 12), 16));

/**
 * Columns are {title, cell, kind}; the first is the heading of a row on a narrow screen. `key` returns the id of a row. A column of
 * money has `amount`, which returns the text of the amount or null; its `cell` also gets the number of decimals of the column.
 */
export function table(columns, rows, label, key, kind = "") {
  const digits = columns.map(({ amount }) => (amount ? decimalsOf(rows.map(amount)) : 0));
  const content = ({ cell, amount }, row, at) => (cell ? cell(row, digits[at]) : money(amount(row), digits[at]));
  return h("table", { class: `folds ${kind}`, "aria-label": label },
    h("thead", {}, h("tr", {}, columns.map((it) => h("th", { scope: "col", class: it.kind ?? "" },
      it.title || h("span", { class: "sr" }, it.name ?? "Actions"))))),
    h("tbody", {}, rows.map((row) => h("tr", { "data-key": key(row) }, columns.map((it, at) =>
      h("td", { class: `${it.kind ?? ""} ${at === 0 ? "lead" : ""}`, "data-label": it.title }, content(it, row, at)))))));
}

export const empty = (title, text, action) => h("div", { class: "empty" }, h("b", {}, title), text, action ? h("div", {}, action) : null);

/**
 * A paged list. `begin` loads the first page, `load` reloads the loaded pages, and `restart` starts again when the filters change.
 * One of them runs at a time; `restart` aborts the requests of the old filters. `ready` gets the rows before they are shown.
 * `none` is shown if the list is empty: an element, or a function that returns one. `note` returns a notice about a page, or nothing. `tile` shows a row in a grid of images, if the list supports one.
 *
 * The service ends a page of a filtered list after a number of records, so a page may be empty. The list reads on until it finds a row.
 */
export function listing({ path, show, tile, none, context, ready, note, size = 50 }) {
  const node = h("div", { class: "sheet" }, h("div", { class: "empty" }, "Loading…"));
  let question = new AbortController();
  let queue = Promise.resolve();
  let shown = [];
  let next = null;
  let notes = null;
  /** The number of loaded pages, restored when the user returns to the list. */
  const open = context.list ?? { pages: 1 };
  let reading = false;
  /** Whether a search reads on; `isStopped` after the user pressed Stop. */
  let searching = false;
  let isStopped = false;
  /** The records read so far, if the service counts them. */
  let scanned = 0;
  /** Empty parts of the list that a search has read, from one cursor to another. A reload skips them. */
  let gaps = [];
  const progress = h("span", { class: "small muted", role: "status" });
  const stop = h("button", { class: "button slim", type: "button", onclick: () => { isStopped = true; } }, "Stop");

  const enqueue = (work) => {
    const done = queue.then(work);
    queue = done.catch(() => {});
    return done;
  };

  async function page(cursor, asked) {
    const base = typeof path === "function" ? path() : path;
    const more = new URLSearchParams(cursor ? { limit: size, cursor } : { limit: size });
    return get(`${base}${base.includes("?") ? "&" : "?"}${more}`, AbortSignal.any([context.signal, asked.signal]));
  }

  const rows = () => (tile && isGrid() ? h("div", { class: "gallery" }, shown.map(tile)) : show(shown));
  if (tile) onRowsChange(() => { if (shown.length) draw(); }, context.signal);

  function draw() {
    node.removeAttribute("aria-busy");
    const words = shown.length ? "Show more" : "Search older jobs";
    fill(node, notes,
      shown.length ? h("div", { class: "scroll" }, rows()) : next || searching ? null : typeof none === "function" ? none() : none,
      searching ? h("div", { class: "more" }, progress, stop)
        : next ? h("div", { class: "more" }, gaps.some((it) => it.to === next) ? progress : null, h("button", { class: `button quiet ${reading ? "busy" : ""}`, type: "button", "aria-disabled": String(reading), onclick: more }, words)) : null);
  }

  /** Cursors are ids, which sort by time. */
  const skipGap = (cursor) => gaps.find((it) => cursor <= it.from && cursor > it.to)?.to ?? cursor;

  function say(cursor, words) {
    const count = scanned ? `Searched ${scanned.toLocaleString("en")} ${scanned === 1 ? "job" : "jobs"}, back to` : "Searched back to";
    progress.textContent = `${count} ${timeOf(cursor)}${words}`;
  }

  /** Reads from `cursor` on until a page has rows, the list ends, the user presses Stop, or the limits are reached. */
  async function search(cursor, asked) {
    const began = Date.now();
    let at = cursor;
    let found = { data: [], next_cursor: cursor };
    isStopped = false;
    try {
      for (let count = 0; !found.data.length && found.next_cursor && !isStopped && count < MAX_PAGES && Date.now() - began < MAX_TIME; count += 1) {
        at = found.next_cursor;
        if (count || !reading) { say(at, "…"); searching = true; draw(); }
        found = await page(at, asked);
        scanned += found.scanned ?? 0;
      }
    } finally {
      searching = false;
    }
    // The next search continues where this one ended.
    if (!found.data.length && found.next_cursor) at = found.next_cursor;
    if (at !== cursor) {
      gaps.push({ from: cursor, to: at });
      say(at, shown.length ? "." : ". No match yet.");
    }
    return found;
  }

  /**
   * Reads as many pages as were shown, and more if they hold fewer rows: the API ends a page of a filtered list after a number of
   * records, and new rows push old ones to the next page.
   */
  async function read() {
    const asked = question;
    const rows = [];
    let cursor = null;
    if (!gaps.length) scanned = 0;
    let count = 0;
    do {
      const found = await page(cursor, asked);
      if (!count) notes = note?.(found) ?? null;
      if (!gaps.length) scanned += found.scanned ?? 0;
      rows.push(...found.data);
      cursor = found.next_cursor && skipGap(found.next_cursor);
      count += 1;
    } while (cursor && (count < open.pages || (count === open.pages && rows.length < shown.length)));
    // A reload does not search again.
    if (!rows.length && cursor && !gaps.length) {
      const found = await search(cursor, asked);
      rows.push(...found.data);
      cursor = found.next_cursor;
      if (rows.length) open.pages += 1;
    }
    await ready?.(rows);
    asked.signal.throwIfAborted();
    [shown, next] = [rows, cursor];
    draw();
  }

  async function more() {
    if (reading) return;
    const asked = question;
    reading = true;
    draw();
    try {
      await enqueue(async () => {
        if (!next || asked !== question) return;
        const found = await search(next, asked);
        await ready?.(found.data);
        asked.signal.throwIfAborted();
        shown = [...shown, ...found.data];
        next = found.next_cursor;
        if (found.data.length) open.pages += 1;
      });
      reading = false;
      if (asked === question) draw();
    } catch (error) {
      reading = false;
      if (error.name === "AbortError") return;
      draw();
      node.append(h("div", { class: "more", role: "alert" }, notice("bad", `Couldn't load more: ${error.message}`)));
    }
  }

  function restart() {
    question.abort();
    const asked = question = new AbortController();
    [shown, next, notes, open.pages, gaps] = [[], null, null, 1, []];
    node.setAttribute("aria-busy", "true");
    return enqueue(() => (asked === question ? read() : null)).catch((error) => {
      if (asked !== question || context.signal.aborted) return;
      node.removeAttribute("aria-busy");
      fill(node, h("div", { class: "empty", role: "alert" }, h("b", {}, "Couldn't load this list"), h("p", {}, error.message),
        h("button", { class: "button", type: "button", onclick: restart }, "Try again")));
    });
  }

  const begin = () => enqueue(read);
  return { node, begin, load: context.reloader(begin), restart };
}
