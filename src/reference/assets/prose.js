// Renders the subset of CommonMark that the documents use: paragraphs, headings, bold, code and links. Text never becomes markup.
import { h } from "./dom.js";

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g;

/** Renders inline markup. */
export function inline(text) {
  const pieces = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    pieces.push(text.slice(at, found.index));
    const [whole, code, bold, words, address] = found;
    if (code) pieces.push(h("code", {}, code));
    else if (bold) pieces.push(h("strong", {}, bold));
    else pieces.push(h("a", { href: address, rel: "noreferrer" }, words));
    at = found.index + whole.length;
  }
  return [...pieces, text.slice(at)];
}

/** Renders paragraphs and headings. */
export function prose(text) {
  const blocks = (text ?? "").trim().split(/\n\s*\n/).filter(Boolean);
  return blocks.map((block) => {
    const heading = /^##+ (.*)/.exec(block);
    return heading ? h("h3", {}, inline(heading[1])) : h("p", {}, inline(block.replaceAll("\n", " ")));
  });
}
