// Deliveries are verified, by the vectors that the service's own tests use.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ArgumentError } from "../src/errors.js";
import { verifyOperatorEvent, verifyWebhook, WebhookVerificationError } from "../src/webhooks.js";
import type { Delivery, WebhookHeaders } from "../src/webhooks.js";
import { repository } from "./repository.js";

interface Vector {
  readonly name: string;
  readonly kind: string;
  readonly encoding: "ascii" | "utf8";
  readonly body: string;
  readonly differs: readonly string[];
  readonly error: string | null;
  readonly image_url: string | null;
  readonly job_id: string;
  readonly secrets: readonly string[];
  readonly timestamp: number;
  readonly webhook_id: string;
  readonly webhook_signature: string;
  readonly x_signature: string;
}

const { vectors } = JSON.parse(readFileSync(repository("tests/webhooks/golden.json"), "utf8")) as { vectors: Vector[] };
const [first] = vectors as [Vector];
// What JavaScript writes in its own way; see tests/webhooks/canonical.mjs.
const SCRIPT_DIFFERS = ["big-integer", "small-float", "astral-order"];

const xHeaders = (it: Vector): Record<string, string> => ({ "X-Timestamp": String(it.timestamp), "X-Signature": it.x_signature });
const standardHeaders = (it: Vector): Record<string, string> => ({
  "Webhook-Id": it.webhook_id,
  "Webhook-Timestamp": String(it.timestamp),
  "Webhook-Signature": it.webhook_signature,
});
const kinds = (it: Vector): Record<string, string>[] => [xHeaders(it), standardHeaders(it), { ...xHeaders(it), ...standardHeaders(it) }];

async function isGenuine(vector: Vector, headers: WebhookHeaders, changed: Partial<Delivery> = {}): Promise<boolean> {
  try {
    await verifyWebhook({ body: vector.body, headers, secret: vector.secrets, now: vector.timestamp, ...changed });
    return true;
  } catch (error) {
    assert.ok(error instanceof WebhookVerificationError, String(error));
    return false;
  }
}

for (const vector of vectors) {
  test(`each signature suffices: ${vector.name}`, async () => {
    for (const headers of kinds(vector)) {
      const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value]]));
      // Of another package, whose class is not the global one.
      const foreign = { get: (name: string): string | null => new Headers(headers).get(name) };
      for (const form of [headers, new Headers(headers), lower, foreign]) assert.ok(await isGenuine(vector, form));
      const bytes = new TextEncoder().encode(vector.body);
      for (const body of [bytes, bytes.buffer, Buffer.from(bytes)]) assert.ok(await isGenuine(vector, headers, { body }));
      assert.ok(await isGenuine(vector, headers, { secret: vector.secrets[0] ?? "" }));
    }
  });

  test(`what was changed is refused: ${vector.name}`, async () => {
    for (const headers of kinds(vector)) {
      assert.ok(!(await isGenuine(vector, headers, { body: vector.body.replace("job_id", "job_ie") })));
      assert.ok(!(await isGenuine(vector, headers, { secret: "whsec_AAAA" })));
    }
    assert.ok(!(await isGenuine(vector, { ...standardHeaders(vector), "Webhook-Id": "other" })));
    assert.ok(!(await isGenuine(vector, { ...xHeaders(vector), "X-Timestamp": String(vector.timestamp + 1) })));
  });

  test(`five minutes on either side are accepted and no more: ${vector.name}`, async () => {
    for (const headers of [xHeaders(vector), standardHeaders(vector)]) {
      for (const [seconds, holds] of [[-301, false], [-300, true], [300, true], [301, false]] as const) {
        assert.equal(await isGenuine(vector, headers, { now: vector.timestamp + seconds }), holds);
      }
    }
  });

  test(`a body that was written again still verifies: ${vector.name}`, async () => {
    const blank = vector.body.replace(/^\{/, "{ ");
    const own = vector.encoding === "ascii" && vector.differs.some((it) => SCRIPT_DIFFERS.includes(it));
    assert.equal(await isGenuine(vector, xHeaders(vector), { body: blank }), !own);
    // That of Standard Webhooks is made over the bytes alone.
    assert.ok(!(await isGenuine(vector, standardHeaders(vector), { body: blank })));
  });

  test(`the event tells what was sent: ${vector.name}`, async () => {
    const headers = { ...xHeaders(vector), ...standardHeaders(vector) };
    const event = await verifyWebhook({ body: vector.body, headers, secret: vector.secrets, now: vector.timestamp });
    assert.equal(event.job_id, vector.job_id);
    assert.equal(event.status, vector.kind === "failed" ? "failed" : "done");
    assert.equal(event.result?.image_url ?? null, vector.image_url);
    assert.equal(event.error, vector.error);
    assert.equal(event.deliveryId, vector.webhook_id);
    assert.equal(event.sentAt.getTime(), vector.timestamp * 1000);
    assert.equal(event.isTest, vector.kind === "test");
  });
}

test("there are vectors", () => {
  assert.ok(vectors.length > 20);
  assert.ok(vectors.some(({ secrets }) => secrets.length > 1));
  assert.ok(vectors.some(({ kind }) => kind === "test"));
});

test("a delivery id that nothing has signed is not told", async () => {
  const vector = first;
  const signed = { ...xHeaders(vector), ...standardHeaders(vector) };
  for (const changed of [{ "Webhook-Id": "other" }, { "Webhook-Signature": "v1,AAAA" }, { "Webhook-Timestamp": "1" }]) {
    const event = await verifyWebhook({ body: vector.body, headers: { ...signed, ...changed }, secret: vector.secrets, now: vector.timestamp });
    assert.deepEqual([event.deliveryId, event.job_id], [null, vector.job_id]);
  }
});

test("an empty secret is never used", async () => {
  for (const key of ["", "whsec_"]) {
    // What an attacker would sign with it.
    const code = createHmac("sha256", key).update("1795000000.{}").digest("hex");
    const standard = createHmac("sha256", key).update("id.1795000000.{}").digest("base64");
    const headers = {
      "x-timestamp": "1795000000",
      "x-signature": `sha256=${code}`,
      "webhook-id": "id",
      "webhook-timestamp": "1795000000",
      "webhook-signature": `v1,${standard}`,
    };
    for (const secret of ["", " ", "whsec_", "whsec_ ", [], ["", "whsec_"]]) {
      await assert.rejects(verifyWebhook({ body: "{}", headers, secret, now: 1_795_000_000 }), /no secret was given/);
    }
  }
});

test("a parsed body is refused with the way to the raw one", async () => {
  for (const body of [{ job_id: "j" }, undefined, null, 5] as unknown as string[]) {
    await assert.rejects(verifyWebhook({ body, headers: {}, secret: "whsec_AAAA" }), /body must be the raw body.*express\.raw/);
  }
});

test("what is no delivery is refused with the members of one", async () => {
  for (const wrong of [undefined, null, "{}"] as unknown as Delivery[]) {
    const isRefused = (error: unknown): boolean => error instanceof ArgumentError && error.message.includes("{ body, headers, secret }");
    await assert.rejects(verifyWebhook(wrong), isRefused);
  }
});

test("headers and secrets that are not there are refused", async () => {
  const headers = undefined as unknown as Headers;
  await assert.rejects(verifyWebhook({ body: "{}", headers, secret: "whsec_AAAA" }), /headers must be an object/);
  for (const secret of [undefined, null, [undefined]] as unknown as string[]) {
    await assert.rejects(verifyWebhook({ body: "{}", headers: {}, secret }), /no secret was given/);
  }
});

test("a time that is none is refused", async () => {
  for (const text of ["", "now", "1795000000.0", "+1795000000", " 1795000000", "01795000000", "1".repeat(5000), "1e9"]) {
    assert.ok(!(await isGenuine(first, { ...xHeaders(first), "X-Timestamp": text })), text);
    assert.ok(!(await isGenuine(first, { ...standardHeaders(first), "Webhook-Timestamp": text })), text);
  }
});

test("a signature that is none is refused", async () => {
  for (const text of ["", "é", "sha256=", "v1,", "v1,é", "v1a,AAAA", "\0", " "]) {
    assert.ok(!(await isGenuine(first, { ...xHeaders(first), "X-Signature": text })), text);
    assert.ok(!(await isGenuine(first, { ...standardHeaders(first), "Webhook-Signature": text })), text);
  }
});

test("a signed body that is no delivery is refused", async () => {
  for (const body of ["", "[]", "null", "{}", '{"job_id": 1', "[".repeat(100_000)]) {
    const code = createHmac("sha256", "whsec_AAAA").update(`1795000000.${body}`).digest("hex");
    const headers = { "x-timestamp": "1795000000", "x-signature": `sha256=${code}` };
    await assert.rejects(verifyWebhook({ body, headers, secret: "whsec_AAAA", now: 1_795_000_000 }), /is not a delivery/);
  }
});

test("an operator event is verified by its own function", async () => {
  const value = {
    created_at: "2026-11-20T20:10:58.145Z",
    data: { backend: "google", error: "connection refused", failures: 5 },
    type: "backend.down",
    version: 1,
  };
  const body = JSON.stringify(value);
  const code = (key: string | Uint8Array, text: string, form: "hex" | "base64"): string => createHmac("sha256", key).update(text).digest(form);
  const xSigned = { "X-Timestamp": "1795000000", "X-Signature": `sha256=${code("whsec_AAAA", `1795000000.${body}`, "hex")}` };
  const standardSigned = {
    "webhook-id": "id",
    "webhook-timestamp": "1795000000",
    "webhook-signature": `v1,${code(new Uint8Array(3), `id.1795000000.${body}`, "base64")}`,
  };
  for (const [headers, eventId] of [[xSigned, null], [standardSigned, "id"]] as const) {
    const delivery = { body, headers, secret: "whsec_AAAA", now: 1795000000 };
    const sentAt = new Date(1795000000000);
    assert.deepEqual(await verifyOperatorEvent(delivery), { ...value, eventId, sentAt });
    await assert.rejects(verifyWebhook(delivery), /use verifyOperatorEvent/);
    const changed = { ...delivery, body: body.replace("google", "gemini") };
    await assert.rejects(verifyOperatorEvent(changed), /does not match/);
  }
  const job = { body: first.body, headers: xHeaders(first), secret: first.secrets, now: first.timestamp };
  await assert.rejects(verifyOperatorEvent(job), /not a delivery/);
});

test("a refusal says why", async () => {
  const late = { body: first.body, headers: xHeaders(first), secret: first.secrets, now: first.timestamp + 412 };
  await assert.rejects(verifyWebhook(late), {
    message: "X-Timestamp is 412 s ago; the limit is 300 s; webhook-timestamp is missing",
  });
  const wrong = { body: first.body, headers: standardHeaders(first), secret: "whsec_AAAA", now: first.timestamp };
  await assert.rejects(verifyWebhook(wrong), /webhook-signature does not match: the secret is wrong, or the body was changed$/);
});
