// Highlighted JSON, and text blocks with a copy button.
import { h } from "./dom.js";

const TOKENS = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

/** Highlights a JSON text. */
export function highlight(text) {
  const pieces = [];
  let at = 0;
  for (const found of text.matchAll(TOKENS)) {
    const [whole, string, colon, word, number] = found;
    pieces.push(text.slice(at, found.index));
    if (string && colon) pieces.push(h("span", { class: "t-name" }, string), colon);
    else if (string) pieces.push(h("span", { class: "t-string" }, string));
    else pieces.push(h("span", { class: word ? "t-word" : "t-number" }, word ?? number));
    at = found.index + whole.length;
  }
  return [...pieces, text.slice(at)];
}

export const pretty = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** A text block with a copy button. */
export function block(text, { title, plain } = {}) {
  const code = h("code", {}, plain ? text : highlight(text));
  const copy = h("button", { type: "button", class: "copy", onclick: async () => {
    try { await navigator.clipboard.writeText(code.textContent); } catch { getSelection().selectAllChildren(code); return; }
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  } }, "Copy");
  return h("figure", { class: "block" },
    h("figcaption", {}, h("span", {}, title ?? ""), copy),
    h("pre", { tabindex: "0" }, code));
}
