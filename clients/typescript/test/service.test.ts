// The client against the real program.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, JobFailedError, JobUnfinishedError, Tintype, verifyWebhook, WaitTimeoutError } from "../src/index.js";
import type { ErrorCode, GenerationParams } from "../src/index.js";
import { Peer } from "./peer.js";
import { service } from "./service.js";

const FOX = { prompt: "a red fox", tier: "fast", aspect_ratio: "1:1" } as const;
const PNG = "89504e470d0a1a0a";

const isPng = (bytes: Uint8Array): boolean => Buffer.from(bytes.subarray(0, 8)).toString("hex") === PNG;
const withCode = (code: ErrorCode) => (error: unknown): boolean => error instanceof ApiError && error.code === code;

async function all<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const gathered: T[] = [];
  for await (const entry of entries) gathered.push(entry);
  return gathered;
}

for (const tier of ["fast", "quality", "pro"] as const) {
  for (const urls of [null, [`${service.backEnd}/picture.png`]]) {
    test(`an image is made: ${tier}, ${urls === null ? "from text" : "from an image"}`, async () => {
      const client = await service.client();
      const aspect_ratio = urls !== null && tier !== "fast" ? "auto" : "3:2";
      const params: GenerationParams = { prompt: "a fox", tier, aspect_ratio, input_images_urls: urls };
      const job = await client.generations.createAndWait(params);
      assert.equal(job.status, "done");
      assert.ok(isPng(await client.jobs.download(job)));
      const [listed] = (await client.jobs.list()).data;
      assert.deepEqual([listed?.job_id, listed?.tier, listed?.aspect_ratio], [job.job_id, tier, "3:2"]);
      assert.equal(listed?.mode, urls === null ? "text-to-image" : "image-to-image");
    });
  }
}

test("a lost answer is one job and one charge", async (t) => {
  const peer = await Peer.start(t);
  const client = await service.client({ balance: "1.00", baseUrl: service.losing(peer, 2) });
  client.transport.pause = async () => {};
  const made = await client.generations.create(FOX);
  assert.ok(made.replayed);
  assert.deepEqual(peer.heard.map(({ method }) => method), ["POST", "POST", "POST"]);
  assert.equal((await client.jobs.wait(made)).status, "done");
  assert.deepEqual((await all(client.jobs.iterate())).map(({ job_id }) => job_id), [made.job_id]);
  assert.deepEqual(await client.balance(), { balance: "0.961", reserved: "0.00", available: "0.961" });
});

test("a key is good for one request", async () => {
  const client = await service.client();
  const first = await client.generations.create(FOX, { idempotencyKey: "order-4711" });
  const again = await client.generations.create(FOX, { idempotencyKey: "order-4711" });
  assert.deepEqual([again.job_id, first.replayed, again.replayed], [first.job_id, false, true]);
  const other = client.generations.create({ ...FOX, prompt: "another" }, { idempotencyKey: "order-4711" });
  await assert.rejects(other, withCode("idempotency_key_reused"));
});

test("a dry run tells the price, and keeps nothing", async () => {
  const client = await service.client();
  const input_images_urls = [`${service.backEnd}/picture.png`];
  const asked = { prompt: "a fox", tier: "quality", aspect_ratio: "auto", resolution: "2K", input_images_urls } as const;
  assert.deepEqual(await client.generations.dryRun(asked), {
    price: "0.101",
    tier: "quality",
    mode: "image-to-image",
    aspect_ratio: "3:2",
    resolution: "2K",
    available: "10.00",
  });
  assert.deepEqual(await client.jobs.list(), { data: [], next_cursor: null });
});

test("a job is seen queued, processed and done", async () => {
  const client = await service.client();
  const states: string[] = [];
  let made = "";
  let canceledId = "";
  await service.held(async () => {
    const first = await client.generations.create(FOX);
    const second = await client.generations.create(FOX);
    made = first.job_id;
    // Its progress tells that it is being made; the second one waits for its place.
    for await (const event of client.jobs.events(first)) {
      if (event.type === "progress") {
        assert.equal(event.progress, 0.42);
        break;
      }
      if (event.type === "status") states.push(event.job.status);
    }
    const waiting = await client.jobs.get(second);
    assert.deepEqual([waiting.status, waiting.queue_position, waiting.started_at], ["queued", 1, null]);
    await assert.rejects(client.jobs.wait(second, { waitTimeout: 0 }), WaitTimeoutError);
    await assert.rejects(client.jobs.download(second), JobUnfinishedError);
    await assert.rejects(client.jobs.cancel(first), withCode("conflict"));
    const canceled = await client.jobs.cancel(second);
    assert.deepEqual([canceled.status, canceled.error], ["failed", "canceled"]);
    canceledId = canceled.job_id;
    assert.equal((await client.balance()).reserved, "0.039");
  });
  assert.equal(states.at(-1), "processing");
  const last = (await all(client.jobs.events(made))).flatMap((it) => (it.type === "status" ? [it.job] : [])).at(-1);
  assert.equal(last?.status, "done");
  assert.ok(last !== undefined && last.finished_at !== null && Date.parse(last.created_at) <= Date.parse(last.finished_at));
  assert.ok((await client.jobs.download(last)).length > 0);
  await client.jobs.deleteImage(last);
  await assert.rejects(client.jobs.download(last), withCode("gone"));
  await assert.rejects(client.jobs.deleteImage(canceledId), withCode("conflict"));
});

test("a lost answer to a cancel is a canceled job", async (t) => {
  const peer = await Peer.start(t);
  const client = await service.client({ baseUrl: service.losing(peer, 0) });
  client.transport.pause = async () => {};
  await service.held(async () => {
    await client.generations.create(FOX);
    const queued = await client.generations.create(FOX);
    service.losing(peer, 1);
    assert.equal((await client.jobs.cancel(queued)).error, "canceled");
  });
});

test("a job that waits too long is canceled", async () => {
  const client = await service.client();
  await service.held(async () => {
    await client.generations.create(FOX);
    const expired = await client.jobs.wait(await client.generations.create(FOX, { cancelAfter: 1_000 }));
    assert.deepEqual([expired.status, expired.error], ["failed", "expired before it started"]);
  });
});

test("a failed job costs nothing", async () => {
  const client = await service.client();
  const made = await client.generations.create({ ...FOX, prompt: "refuse this" });
  assert.equal((await client.jobs.wait(made)).status, "failed");
  assert.equal((await client.balance()).available, "10.00");
  await assert.rejects(client.jobs.download(made), JobFailedError);
  await assert.rejects(client.generations.createAndWait({ ...FOX, prompt: "refuse this" }), JobFailedError);
});

test("an image can be passed on as a stream", async () => {
  const client = await service.client();
  const response = await client.jobs.open(await client.generations.createAndWait(FOX));
  assert.equal(response.headers.get("content-type"), "image/png");
  assert.ok(isPng(new Uint8Array(await response.arrayBuffer())));
});

test("the history is filtered, and turned page by page", async () => {
  const client = await service.client();
  const made: string[] = [];
  for (let n = 0; n < 5; n += 1) made.unshift((await client.generations.create({ ...FOX, metadata: { n, of: "list" } })).job_id);
  for (const id of made) await client.jobs.wait(id);
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await client.jobs.list({ limit: 2, cursor });
    pages.push(page.data.map(({ job_id }) => job_id));
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  assert.deepEqual(pages, [made.slice(0, 2), made.slice(2, 4), made.slice(4)]);
  const ids = async (filter: Parameters<typeof client.jobs.iterate>[0]): Promise<string[]> =>
    (await all(client.jobs.iterate(filter))).map(({ job_id }) => job_id);
  assert.deepEqual(await ids({ metadata: { n: 3 } }), [made[1]]);
  assert.deepEqual(await ids({ metadata: { of: "list" }, status: "done", tier: "fast" }), made);
  assert.deepEqual(await ids({ created_after: new Date(Date.now() + 3_600_000) }), []);
  assert.equal((await ids({ created_before: new Date(Date.now() + 3_600_000), mode: "text-to-image" })).length, 5);
  const { key_id: key } = await client.key();
  assert.equal((await client.jobs.list({ limit: 1, key })).data[0]?.price, "0.039");
});

test("the ledger tells deposits and charges", async () => {
  const client = await service.client();
  const job = await client.generations.createAndWait(FOX);
  const lines = await all(client.transactions.iterate());
  const told = lines.map(({ kind, amount, balance_after, job_id }) => [kind, amount, balance_after, job_id]);
  assert.deepEqual(told, [
    ["charge", "-0.039", "9.961", job.job_id],
    ["deposit", "10.00", "10.00", null],
  ]);
  const [charge, deposit] = lines;
  const moment = charge?.created_at;
  assert.deepEqual(await all(client.transactions.iterate({ kind: "deposit" })), [deposit]);
  assert.deepEqual(await all(client.transactions.iterate({ job_id: job.job_id })), [charge]);
  assert.deepEqual((await client.transactions.list({ kind: "charge", from: moment, to: moment })).data, [charge]);
  assert.deepEqual(await all(client.transactions.iterate({ from: new Date(Date.now() + 3_600_000) })), []);
  const page = await client.transactions.list({ limit: 1 });
  assert.deepEqual(page.data, lines.slice(0, 1));
  assert.deepEqual((await client.transactions.list({ cursor: page.next_cursor ?? "" })).data, lines.slice(1));
});

test("the usage tells the images and charges of each day", async () => {
  const client = await service.client();
  const today = (): string => new Date().toISOString().slice(0, 10);
  const from = today();
  await client.generations.createAndWait(FOX);
  const { key_id: key, name } = await client.key();
  const lines = await all(client.usage({ from }));
  const told = lines.map(({ key_id, key_name, model, images, failed, charged }) => [key_id, key_name, model, images, failed, charged]);
  assert.deepEqual(told, [[key, name, "fast", 1, 0, "0.039"]]);
  const [day = ""] = lines.map((it) => it.day);
  assert.ok(from <= day && day <= today(), day);
  assert.deepEqual(await all(client.usage({ key, to: day })), lines);
  assert.deepEqual(await all(client.usage({ to: "2026-01-31" })), []);
});

test("models and key tell what is allowed", async () => {
  const rate_limit = { per_second: 50, burst: 100 };
  const client = await service.client({ key: { models: ["fast"], spend_limit: "5.00", spend_limit_daily: "1.00", rate_limit } });
  const models = await client.models();
  assert.deepEqual(models.map(({ id, allowed }) => [id, allowed]), [["fast", true], ["quality", false], ["pro", false]]);
  assert.deepEqual(models[0]?.prices, { "1K": "0.039" });
  assert.ok(models[2]?.aspect_ratios.includes("auto"));
  const key = await client.key();
  assert.deepEqual([key.models, key.active, key.spent, key.reserved, key.spend_limit], [["fast"], true, "0.00", "0.00", "5.00"]);
  assert.deepEqual([key.spend_limit_daily, key.spent_today, key.rate_limit], ["1.00", "0.00", rate_limit]);
});

test("errors are told by their codes", async () => {
  const wrong = new Tintype({ apiKey: "tt_wrong", baseUrl: service.url });
  await assert.rejects(wrong.balance(), (error: ApiError) => withCode("unauthorized")(error) && !error.message.includes("tt_wrong"));
  const poor = await service.client({ balance: "0.01" });
  await assert.rejects(poor.generations.create(FOX), withCode("insufficient_balance"));
  const limited = await service.client({ key: { spend_limit: "0.01" } });
  await assert.rejects(limited.generations.create(FOX), withCode("key_limit_reached"));
  const scoped = await service.client({ key: { models: ["fast"] } });
  await assert.rejects(scoped.generations.create({ ...FOX, tier: "pro" }), withCode("model_not_allowed"));
  for (const id of ["01a1fa95-0000-7000-8000-000000000001", "no id", "../key"]) {
    await assert.rejects(scoped.jobs.get(id), withCode("not_found"));
  }
});

test("a wrong request hears of all its faults", async () => {
  const client = await service.client();
  const fields = async (call: Promise<unknown>): Promise<string[]> => {
    const error: unknown = await call.then(() => null, (fault: unknown) => fault);
    assert.ok(error instanceof ApiError);
    assert.equal(error.code, "validation_failed");
    return error.errors.map(({ field }) => field).sort();
  };
  const wrong = { prompt: "", tier: "fast", aspect_ratio: "1:8", resolution: "1K" } as unknown as GenerationParams;
  assert.deepEqual(await fields(client.generations.create(wrong)), ["aspect_ratio", "prompt", "resolution"]);
  const input_images_urls = ["http://127.0.0.1:1/a.png"];
  assert.deepEqual(await fields(client.generations.create({ ...FOX, input_images_urls })), ["input_images_urls[0]"]);
  assert.deepEqual(await fields(client.jobs.list({ limit: 101 })), ["limit"]);
});

test("a paused tier says when to come back", async () => {
  const client = await service.client();
  let key: string | undefined;
  await service.paused("fast", async () => {
    await assert.rejects(client.generations.create(FOX, { maxRetries: 0 }), (error: ApiError) => {
      key = error.idempotencyKey;
      return withCode("paused")(error) && error.retryAfter === 30_000;
    });
    assert.deepEqual((await client.models()).map(({ paused }) => paused), [true, false, false]);
  });
  assert.equal((await client.generations.create(FOX, { idempotencyKey: key })).replayed, false);
});

test("a rate limit is waited out", async () => {
  const client = await service.client({ key: { rate_limit: { per_second: 1, burst: 1 } } });
  const pauses: number[] = [];
  client.transport.pause = async (span) => void pauses.push(span);
  const storm = async (): Promise<void> => {
    for (let n = 0; n < 10; n += 1) await client.balance();
  };
  await assert.rejects(storm(), (error: ApiError) => withCode("rate_limited")(error) && error.retryAfter === 1000);
  assert.equal(pauses.at(-1), 1000);
});

test("a delivery of the real program verifies", async (t) => {
  const peer = await Peer.start(t);
  peer.will({ status: 204 });
  const { accountId, apiKey } = await service.account();
  const { secret } = await service.admin("POST", `/accounts/${accountId}/webhooks`, { url: `${peer.url}/hook`, encoding: "utf8" });
  const client = new Tintype({ apiKey, baseUrl: service.url });
  const job = await client.generations.createAndWait({ ...FOX, metadata: { order: "4711", _own: 1, "é": "☃" } });
  await peer.somethingHeard();
  const [heard] = peer.heard;
  assert.ok(heard !== undefined);
  const event = await verifyWebhook({ body: heard.body, headers: heard.headers, secret });
  assert.deepEqual([event.job_id, event.status, event.metadata], [job.job_id, "done", { order: "4711", "é": "☃" }]);
  assert.equal(event.deliveryId, heard.headers["webhook-id"]);
  assert.ok(isPng(await client.jobs.download(job)));
});
