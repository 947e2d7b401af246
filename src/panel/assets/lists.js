// Tables and paged lists.
import { fill, h } from "./dom.js";
import { get } from "./api.js";
import { isGrid, onRowsChange } from "./density.js";
import { notice } from "./dialogs.js";

/** Columns are {title, cell, kind}; the first is the heading of a row on a narrow screen. `key` returns the id of a row. */
export function table(columns, rows, label, key, kind = "") {
  return h("table", { class: `folds ${kind}`, "aria-label": label },
    h("thead", {}, h("tr", {}, columns.map((it) => h("th", { scope: "col", class: it.kind ?? "" },
      it.title || h("span", { class: "sr" }, it.name ?? "Actions"))))),
    h("tbody", {}, rows.map((row) => h("tr", { "data-key": key(row) }, columns.map((it, at) =>
      h("td", { class: `${it.kind ?? ""} ${at === 0 ? "lead" : ""}`, "data-label": it.title }, it.cell(row)))))));
}

export const empty = (title, text, action) => h("div", { class: "empty" }, h("b", {}, title), text, action ? h("div", {}, action) : null);

/**
 * A paged list. `begin` loads the first page, `load` reloads the loaded pages, and `restart` starts again when the filters change.
 * One of them runs at a time; `restart` aborts the requests of the old filters. `ready` gets the rows before they are shown.
 * `note` returns a notice about a page, or nothing. `tile` shows a row in a grid of images, if the list supports one.
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
    const words = shown.length ? "Show more" : "Search further back";
    fill(node, notes,
      shown.length ? h("div", { class: "scroll" }, rows()) : next ? null : none,
      next ? h("div", { class: "more" }, h("button", { class: `button quiet ${reading ? "busy" : ""}`, type: "button", "aria-disabled": String(reading), onclick: more }, words)) : null);
  }

  /**
   * Reads as many pages as were shown, and more if they hold fewer rows: the API ends a page of a filtered list after a number of
   * records, and new rows push old ones to the next page.
   */
  async function read() {
    const asked = question;
    const rows = [];
    let cursor = null;
    let count = 0;
    do {
      const found = await page(cursor, asked);
      if (!count) notes = note?.(found) ?? null;
      rows.push(...found.data);
      cursor = found.next_cursor;
      count += 1;
    } while (cursor && (count < open.pages || (count === open.pages && rows.length < shown.length)));
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
        const found = await page(next, asked);
        await ready?.(found.data);
        asked.signal.throwIfAborted();
        shown = [...shown, ...found.data];
        next = found.next_cursor;
        open.pages += 1;
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
    [shown, next, notes, open.pages] = [[], null, null, 1];
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
