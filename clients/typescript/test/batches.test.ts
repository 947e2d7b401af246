// Batches, against the real program.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, BatchWaitTimeoutError } from "../src/index.js";
import type { BatchRequest } from "../src/index.js";
import { Peer } from "./peer.js";
import { service } from "./service.js";

const FOX: BatchRequest = { model: "fast", prompt: "a red fox", aspect_ratio: "1:1" };
const OWL: BatchRequest = { model: "quality", prompt: "an owl", aspect_ratio: "16:9", resolution: "2K", custom_id: "owl" };

test("a batch is made, waited for and fetched", async () => {
  const client = await service.client();
  const estimate = await client.batches.dryRun([FOX, OWL]);
  assert.deepEqual(estimate, { price: "0.14", requests: 2, available: "10.00" });
  const made = await client.batches.create([FOX, OWL], { metadata: { catalogue: "autumn" } });
  assert.deepEqual([made.price, made.counts.total, made.metadata, made.replayed], ["0.14", 2, { catalogue: "autumn" }, false]);
  const ended = await client.batches.wait(made);
  assert.deepEqual([ended.status, ended.counts.done, ended.counts.failed, ended.charged], ["ended", 2, 0, "0.14"]);
  const [fox, owl] = await client.batches.results(made);
  assert.deepEqual([fox?.custom_id, owl?.custom_id, owl?.status], ["0", "owl", "done"]);
  assert.ok((await client.jobs.download(owl?.job_id ?? "")).length > 100);
  const listed = (await client.jobs.list({ batch_id: made.batch_id })).data;
  assert.deepEqual(listed.map(({ custom_id }) => custom_id).sort(), ["0", "owl"]);
  assert.deepEqual((await client.batches.list()).data.map(({ batch_id }) => batch_id), [made.batch_id]);
});

test("a lost answer is one batch and one charge", async (t) => {
  const peer = await Peer.start(t);
  const client = await service.client({ balance: "1.00", baseUrl: service.losing(peer, 2) });
  client.transport.pause = async () => {};
  const made = await client.batches.create([FOX, FOX]);
  assert.ok(made.replayed);
  await client.batches.wait(made);
  assert.equal((await client.balance()).balance, "0.922");
});

test("faults name their request, and an ended batch is not canceled", async () => {
  const client = await service.client();
  const faulty = client.batches.create([FOX, { ...FOX, prompt: "" }]);
  await assert.rejects(faulty, (error) => error instanceof ApiError && /requests\[1\]\.prompt/.test(error.message));
  const made = await client.batches.create([FOX]);
  await client.batches.wait(made);
  await assert.rejects(client.batches.cancel(made), (error) => error instanceof ApiError && error.code === "conflict");
});

test("waiting ends in time", async () => {
  const client = await service.client();
  const made = await client.batches.create(Array.from({ length: 100 }, () => FOX));
  const waited = client.batches.wait(made, { waitTimeout: 0 });
  await assert.rejects(waited, (error) => error instanceof BatchWaitTimeoutError && error.batchId === made.batch_id);
  const canceled = await client.batches.cancel(made);
  assert.equal(canceled.counts.queued, 0);
});
