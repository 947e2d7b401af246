// Verifies the golden deliveries as a receiver would, with Node's own modules only. `canonical.mjs` says which deliveries each form of
// re-serialization verifies; raw bytes verify all.
//
// Usage: node verify.mjs [golden.json]

import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { direct, escaped, rebuilt } from "./canonical.mjs";

const TOLERANCE_SECONDS = 300;

// The key is the whole text of the secret, including `whsec_`.
function xSignature(secret, timestamp, text) {
  return `sha256=${createHmac("sha256", secret).update(`${timestamp}.${text}`, "utf8").digest("hex")}`;
}

// The key is the decoded text after `whsec_`.
function webhookSignature(secret, delivery, timestamp, body) {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  return `v1,${createHmac("sha256", key).update(`${delivery}.${timestamp}.${body}`, "utf8").digest("base64")}`;
}

function verifies(secret, headers, text, now) {
  if (Math.abs(now - Number(headers["x-timestamp"])) > TOLERANCE_SECONDS) return false;
  const given = Buffer.from(headers["x-signature"]);
  const expected = Buffer.from(xSignature(secret, headers["x-timestamp"], text));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

// The `utf8` body, computed from the request only.
function expectedBody(vector) {
  let metadata = null;
  if (vector.kind === "test") metadata = { test: true };
  else if (vector.metadata !== null) {
    const kept = Object.entries(JSON.parse(vector.metadata)).filter(([name]) => !name.startsWith("_"));
    metadata = Object.fromEntries(kept);
  }
  return direct({
    job_id: vector.job_id,
    status: vector.kind === "failed" ? "failed" : "done",
    result: vector.kind === "done" ? { image_url: vector.image_url } : null,
    error: vector.error,
    metadata,
  });
}

function* checks(vector) {
  const [secret] = vector.secrets;
  const { body, timestamp: sent } = vector;
  const headers = { "x-timestamp": String(sent), "x-signature": vector.x_signature };
  const differs = (...kinds) => kinds.some((kind) => vector.differs.includes(kind));
  const rewritten = (write) => verifies(secret, headers, write(JSON.parse(body)), sent);

  yield ["raw bytes", verifies(secret, headers, body, sent)];
  for (const late of [-300, 300]) yield [`clock ${late} s`, verifies(secret, headers, body, sent + late)];
  for (const late of [-301, 301]) yield [`clock ${late} s is refused`, !verifies(secret, headers, body, sent + late)];
  yield ["changed body is refused", !verifies(secret, headers, body.replace("job_id", "job_ie"), sent)];
  const listed = vector.secrets.map((it) => webhookSignature(it, vector.webhook_id, sent, body));
  yield ["webhook-signature", listed.join(" ") === vector.webhook_signature];

  if (vector.encoding === "utf8") {
    yield ["re-serialized directly", rewritten(direct)];
    yield ["body as the request asks", body === expectedBody(vector)];
    const own = differs("index-keys", "proto-key");
    yield [`rebuilt: ${own ? "differs" : "verifies"}`, rewritten(rebuilt) !== own];
  } else {
    const own = differs("big-integer", "small-float", "astral-order");
    yield [`escaped: ${own ? "differs" : "verifies"}`, rewritten(escaped) !== own];
  }
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
