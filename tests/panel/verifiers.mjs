// Runs the five verifiers that the panel shows, unchanged: each must accept its test vector, and reject the vector when it is
// altered, signed with another or an empty secret, too old, too new, or without its headers.
//
// Needs python3, node, go, ruby and php. Usage: node verifiers.mjs

import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { pathToFileURL } from "node:url";

const run = promisify(execFile);
const read = (name) => readFileSync(new URL(name, import.meta.url), "utf8");

/** File name, command and arguments per language. */
const RUNNERS = {
  Python: ["main.py", "python3", (file) => [file]],
  JavaScript: ["main.mjs", "node", (file) => [file]],
  Go: ["main.go", "go", (file) => ["run", file]],
  Ruby: ["main.rb", "ruby", (file) => [file]],
  PHP: ["main.php", "php", (file) => [file]],
};

/** Changes of a program's text, and whether its verifier still accepts the delivery. */
const VARIANTS = (vector) => [
  ["as it is shown", (text) => text, true],
  ["300 s late", (text) => last(text, vector.now, vector.now + 300), true],
  ["301 s late", (text) => last(text, vector.now, vector.now + 301), false],
  ["301 s early", (text) => last(text, vector.now, vector.now - 301), false],
  ["changed body", (text) => last(text, '"done"', '"lost"'), false],
  ["other secret", (text) => last(text, vector.secret, `${vector.secret}x`), false],
  ["empty secret", (text) => last(last(text, vector.secret, ""), vector.signature, signed(vector, "")), false],
  ["no signature", (text) => last(text, vector.signature, ""), false],
  ["no moment", (text) => stamped(text, vector, ""), false],
  ["a moment of 5,000 digits", (text) => stamped(text, vector, "9".repeat(5_000)), false],
];

/** The signature of the vector with another secret. */
function signed({ now, body }, secret) {
  return `sha256=${createHmac("sha256", secret).update(`${now}.${body}`).digest("hex")}`;
}

/** The program with another X-Timestamp. */
function stamped(text, { now }, stamp) {
  return text.replace(`"${now}"`, `"${stamp}"`).replace(`'${now}'`, `'${stamp}'`);
}

function last(text, what, by) {
  const at = text.lastIndexOf(String(what));
  if (at < 0) throw new Error(`the program does not say ${what}`);
  return text.slice(0, at) + by + text.slice(at + String(what).length);
}

// The panel's scripts are modules, but Node only knows that from the extension .mjs.
const folder = mkdtempSync(join(tmpdir(), "verifiers-"));
const copy = join(folder, "verifiers.mjs");
writeFileSync(copy, read("../../src/panel/assets/verifiers.js"));
const { vector, verifiers } = await import(pathToFileURL(copy).href);

const golden = JSON.parse(read("../webhooks/golden.json")).vectors.find((it) => it.body === vector.body);
let failed = 0;
let passed = 0;
const check = (holds, what) => {
  if (holds) passed += 1;
  else {
    failed += 1;
    console.log(`FAILED ${what}`);
  }
};
check(golden?.secrets[0] === vector.secret && golden.timestamp === vector.now && golden.x_signature === vector.signature, "the vector is one of the golden deliveries");
check(Object.keys(verifiers).join() === Object.keys(RUNNERS).join(), "every language is run");
for (const [language, [name, command, args]] of Object.entries(RUNNERS)) {
  const began = Date.now();
  for (const [what, change, taken] of VARIANTS(vector)) {
    const file = join(folder, name);
    writeFileSync(file, change(verifiers[language]));
    const output = await run(command, args(file), { env: { ...process.env, GO111MODULE: "off" } }).then(
      ({ stdout }) => stdout, (error) => String(error.stderr || error));
    check(output.toLowerCase().includes(String(taken)) && !output.toLowerCase().includes(String(!taken)), `${language}, ${what}: ${output}`);
  }
  console.log(`${language}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
}
rmSync(folder, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
