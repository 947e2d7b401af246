// Node's part of `agree.py`: each line of standard input is a JSON array of a document and its `utf8` text.

import { readFileSync } from "node:fs";
import { direct } from "./canonical.mjs";

// The number of failures printed in full.
const SHOWN = 5;

const pairs = readFileSync(0, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
let failed = 0;
for (const [text, utf8] of pairs) {
  let agrees = false;
  try {
    agrees = utf8 === direct(JSON.parse(text)) && utf8 === direct(JSON.parse(utf8));
  } catch {
    // A parse error counts as a mismatch.
  }
  if (!agrees) {
    failed += 1;
    if (failed <= SHOWN) console.log(`FAILED in Node\n  document ${JSON.stringify(text)}\n  utf8     ${JSON.stringify(utf8)}`);
  }
}
console.log(`Node: ${pairs.length - failed} passed, ${failed} failed`);
process.exit(failed > 0 || pairs.length === 0 ? 1 : 0);
