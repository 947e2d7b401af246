// Verifies the golden deliveries with the `standardwebhooks` library of npm, at the time at which each was sent.
//
// Usage: npm install --prefix D standardwebhooks@1.1.1 && NODE_PATH=D/node_modules node standard.mjs [golden.json]

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// require() searches NODE_PATH, so the library need not be installed beside this file; import does not.
const { Webhook, WebhookVerificationError } = createRequire(import.meta.url)("standardwebhooks");

function verifies(secret, headers, body, now) {
  Date.now = () => now * 1000;
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  }
}

function* checks(vector) {
  const { body, timestamp: sent } = vector;
  const headers = {
    "webhook-id": vector.webhook_id,
    "webhook-timestamp": String(sent),
    "webhook-signature": vector.webhook_signature,
  };
  for (const [age, secret] of vector.secrets.entries()) yield [`secret ${age}`, verifies(secret, headers, body, sent)];
  const [first] = vector.secrets;
  for (const late of [-300, 300]) yield [`clock ${late} s`, verifies(first, headers, body, sent + late)];
  for (const late of [-301, 301]) yield [`clock ${late} s is refused`, !verifies(first, headers, body, sent + late)];
  yield ["changed body is refused", !verifies(first, headers, `${body} `, sent)];
  yield ["other id is refused", !verifies(first, { ...headers, "webhook-id": "other" }, body, sent)];
}

const path = process.argv[2] ?? new URL("golden.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(path, "utf8"));
let passed = 0;
let failed = 0;
for (const vector of vectors) {
  for (const [what, holds] of checks(vector)) {
    if (holds) passed += 1;
    else {
      failed += 1;
      console.log(`FAILED ${vector.name}: ${what}`);
    }
  }
}
console.log(`${passed} passed, ${failed} failed (${vectors.length} deliveries)`);
process.exit(failed > 0 || vectors.length === 0 ? 1 : 0);
