// JSON in colours, and a block of text that can be copied.
import { h } from "./dom.js";

const TOKENS = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

/** The pieces of a JSON text: names, strings, numbers and words, each in its colour. */
export function coloured(text) {
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

/** A value as text. */
export const pretty = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** Text in a block of its own, with a button that copies it. */
export function block(text, { title, plain } = {}) {
  const code = h("code", {}, plain ? text : coloured(text));
  const copy = h("button", { type: "button", class: "copy", onclick: async () => {
    try { await navigator.clipboard.writeText(code.textContent); } catch { getSelection().selectAllChildren(code); return; }
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  } }, "Copy");
  return h("figure", { class: "block" },
    h("figcaption", {}, h("span", {}, title ?? ""), copy),
    h("pre", { tabindex: "0" }, code));
}
