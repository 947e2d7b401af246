// Runs the JavaScript of docs/webhooks.md on the golden deliveries, at the time at which each was sent. The Standard
// Webhooks library's block runs where NODE_PATH has the library (see standard.mjs).
//
// Usage: node documentation.mjs

import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const read = (name) => readFileSync(new URL(name, import.meta.url), "utf8");

// An import ignores NODE_PATH, so the block's import is replaced by the path that require() resolves.
function library() {
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve("standardwebhooks")).href;
  } catch {
    return null;
  }
}

async function blocks() {
  const names = {};
  const place = library();
  for (const [, block] of read("../../docs/webhooks.md").matchAll(/^```js\n(.*?)^```$/gms)) {
    if (block.includes("standardwebhooks") && place === null) continue;
    const text = block.replace('from "standardwebhooks"', `from "${place}"`);
    Object.assign(names, await import(`data:text/javascript,${encodeURIComponent(text)}`));
  }
  return names;
}

function* checks({ verify, rewritten, payload }, vector) {
  const { body, timestamp: sent } = vector;
  const [secret] = vector.secrets;
  const headers = {
    "x-timestamp": String(sent),
    "x-signature": vector.x_signature,
    "webhook-id": vector.webhook_id,
    "webhook-timestamp": String(sent),
    "webhook-signature": vector.webhook_signature,
  };
  const accepted = () => {
    try {
      return JSON.stringify(payload(secret, headers, body)) === JSON.stringify(JSON.parse(body));
    } catch {
      return false;
    }
  };
  for (const [late, holds] of [[0, true], [300, true], [301, false], [-301, false]]) {
    Date.now = () => (sent + late) * 1000;
    yield [`raw, ${late} s`, verify(secret, headers, Buffer.from(body)) === holds];
    if (vector.encoding === "utf8") {
      yield [`parsed, ${late} s`, verify(secret, headers, rewritten(JSON.parse(body))) === holds];
    }
    if (payload) yield [`library, ${late} s`, accepted() === holds];
  }
  Date.now = () => sent * 1000;
  yield ["changed body is refused", !verify(secret, headers, `${body} `)];
  yield ["other secret is refused", !verify(`${secret}x`, headers, body)];
  for (const bad of [{}, { ...headers, "x-timestamp": "now" }, { ...headers, "x-signature": "é" }]) {
    yield [`bad headers are refused: ${Object.keys(bad)}`, !verify(secret, bad, body)];
  }
  // A signature without the secret.
  const code = createHmac("sha256", "").update(`${sent}.`).update(body).digest("hex");
  for (const unset of ["", undefined]) {
    yield ["an empty secret is refused", !verify(unset, { ...headers, "x-signature": `sha256=${code}` }, body)];
  }
}

const { vectors } = JSON.parse(read("golden.json"));
const names = await blocks();
let passed = 0;
let failed = 0;
for (const vector of vectors) {
  for (const [what, holds] of checks(names, vector)) {
    if (holds) passed += 1;
    else {
      failed += 1;
      console.log(`FAILED ${vector.name}: ${what}`);
    }
  }
}
const kind = names.payload ? "with" : "without";
console.log(`${passed} passed, ${failed} failed (${vectors.length} deliveries, ${kind} the library)`);
process.exit(failed > 0 || vectors.length === 0 ? 1 : 0);
