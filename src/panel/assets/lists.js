// Tables, and lists that go on.
import { fill, h } from "./dom.js";
import { get } from "./api.js";

/** Columns are {title, cell, kind}; the first one leads on a narrow screen. */
export function table(columns, rows, label, kind = "") {
  return h("table", { class: `folds ${kind}`, "aria-label": label },
    h("thead", {}, h("tr", {}, columns.map((it) => h("th", { scope: "col", class: it.kind ?? "" },
      it.title || h("span", { class: "sr" }, it.name ?? "Actions"))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, columns.map((it, at) =>
      h("td", { class: `${it.kind ?? ""} ${at === 0 ? "lead" : ""}`, "data-label": it.title }, it.cell(row)))))));
}

/** A choice of one. Options are [value, words]. */
export const select = (name, options, value, change) => h("select", { name, onchange: change },
  options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));

/** The first and the last moment of a day as a date field has it, in local time; nothing for no day. */
export const startOf = (text) => (text ? new Date(`${text}T00:00:00`).toISOString() : "");
export const endOf = (text) => (text ? new Date(`${text}T23:59:59.999`).toISOString() : "");

export const empty = (title, text, action) => h("div", { class: "empty" }, h("b", {}, title), text, action ? h("div", {}, action) : null);

/** A list behind a path. Looks again on a hint, as far as it has been read; goes on by a button. */
export function listing({ path, show, none, signal, size = 50 }) {
  const node = h("div", { class: "sheet" }, h("div", { class: "empty" }, "Loading…"));
  let shown = [];
  let next = null;
  const address = (cursor, limit) => {
    const base = typeof path === "function" ? path() : path;
    const more = new URLSearchParams(cursor ? { limit, cursor } : { limit });
    return `${base}${base.includes("?") ? "&" : "?"}${more}`;
  };
  const draw = () => fill(node,
    shown.length ? h("div", { class: "scroll" }, show(shown)) : next ? null : none,
    next ? h("div", { class: "more" }, h("button", { class: "button quiet", type: "button", onclick: more }, shown.length ? "Show more" : "Look further back")) : null);
  async function more() {
    const page = await get(address(next, size), signal);
    shown = [...shown, ...page.data];
    next = page.next_cursor;
    draw();
  }
  async function load() {
    const pages = Math.max(1, Math.ceil(shown.length / size));
    const all = [];
    let cursor = null;
    for (let at = 0; at < pages; at += 1) {
      const page = await get(address(cursor, size), signal);
      all.push(...page.data);
      cursor = page.next_cursor;
      if (!cursor) break;
    }
    shown = all;
    next = cursor;
    draw();
  }
  return { node, load, restart: () => { shown = []; return load(); } };
}
