// Tables and paged lists.
import { fill, h } from "./dom.js";
import { get } from "./api.js";
import { isGrid, onRowsChange } from "./density.js";
import { notice } from "./dialogs.js";

/** Columns are {title, cell, kind}; the first one leads on a narrow screen. `key` tells rows apart. */
export function table(columns, rows, label, key, kind = "") {
  return h("table", { class: `folds ${kind}`, "aria-label": label },
    h("thead", {}, h("tr", {}, columns.map((it) => h("th", { scope: "col", class: it.kind ?? "" },
      it.title || h("span", { class: "sr" }, it.name ?? "Actions"))))),
    h("tbody", {}, rows.map((row) => h("tr", { "data-key": key(row) }, columns.map((it, at) =>
      h("td", { class: `${it.kind ?? ""} ${at === 0 ? "lead" : ""}`, "data-label": it.title }, it.cell(row)))))));
}

export const empty = (title, text, action) => h("div", { class: "empty" }, h("b", {}, title), text, action ? h("div", {}, action) : null);

/**
 * A list behind a path. `begin` reads it for the first time, `load` looks again, as far as it has been read, and `restart` reads
 * it from the front when something else is asked for. One of them reads at a time, but nothing waits for answers to what is no
 * longer asked. `ready` is given the rows before they are shown.
 * `note` makes a remark on a page that was read, or nothing. `tile` shows a row in a grid of images, where the list has one.
 */
export function listing({ path, show, tile, none, context, ready, note, size = 50 }) {
  const node = h("div", { class: "sheet" }, h("div", { class: "empty" }, "Loading…"));
  let question = new AbortController();
  let turn = Promise.resolve();
  let shown = [];
  let next = null;
  let remark = null;
  /** How many pages are shown: as many as before where the visitor comes back to the list. */
  const open = context.list ?? { pages: 1 };
  let reading = false;

  const inTurn = (work) => {
    const done = turn.then(work);
    turn = done.catch(() => {});
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
    fill(node, remark,
      shown.length ? h("div", { class: "scroll" }, rows()) : next ? null : none,
      next ? h("div", { class: "more" }, h("button", { class: `button quiet ${reading ? "busy" : ""}`, type: "button", "aria-disabled": String(reading), onclick: more }, words)) : null);
  }

  /**
   * Reads as many pages as were shown, and more if these hold fewer rows: a page of a filtered list ends after a number of records,
   * and new rows push old ones to the next page.
   */
  async function read() {
    const asked = question;
    const rows = [];
    let cursor = null;
    let count = 0;
    do {
      const found = await page(cursor, asked);
      if (!count) remark = note?.(found) ?? null;
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
      await inTurn(async () => {
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
    [shown, next, remark, open.pages] = [[], null, null, 1];
    node.setAttribute("aria-busy", "true");
    return inTurn(() => (asked === question ? read() : null)).catch((error) => {
      if (asked !== question || context.signal.aborted) return;
      node.removeAttribute("aria-busy");
      fill(node, h("div", { class: "empty", role: "alert" }, h("b", {}, "Couldn't load this list"), h("p", {}, error.message),
        h("button", { class: "button", type: "button", onclick: restart }, "Try again")));
    });
  }

  const begin = () => inTurn(read);
  return { node, begin, load: context.fresh(begin), restart };
}
