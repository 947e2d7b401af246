// CommonMark, as far as the documents use it: paragraphs, headings, bold, code and links. Text only ever becomes text.
import { h } from "./dom.js";

const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g;

/** The pieces of one line of prose. */
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

/** Paragraphs and headings. */
export function prose(text) {
  const blocks = (text ?? "").trim().split(/\n\s*\n/).filter(Boolean);
  return blocks.map((block) => {
    const heading = /^##+ (.*)/.exec(block);
    return heading ? h("h3", {}, inline(heading[1])) : h("p", {}, inline(block.replaceAll("\n", " ")));
  });
}
