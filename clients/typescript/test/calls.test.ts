// What is sent, and what is refused before anything is.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as calls from "../src/calls.js";
import { ArgumentError, Tintype, TintypeError } from "../src/index.js";
import type { ApiConnectionError, GenerationParams } from "../src/index.js";
import { calling, created, job, Peer, told } from "./peer.js";

const BODY = { prompt: "a fox", aspect_ratio: "1:1" } as const;

test("tier and input images choose one of the six paths", () => {
  const cases = [["pro", ""], ["quality", "/nb2"], ["fast", "/nb"]] as const;
  for (const [tier, path] of cases) {
    const text = calls.generation({ ...BODY, tier }, "k", {});
    assert.equal(text.path, `/api/v1${path}/text-generations`);
    assert.deepEqual(JSON.parse(text.body ?? ""), BODY);
    const urls = { input_images_urls: ["http://h/a.png"] };
    const image = calls.generation({ ...BODY, ...urls, tier }, "k", {});
    assert.equal(image.path, `/api/v1${path}/url-generations`);
    assert.deepEqual(JSON.parse(image.body ?? ""), { ...BODY, ...urls });
  }
});

test("what cannot be meant is refused here", () => {
  const wrong = { ...BODY, tier: "best" } as unknown as GenerationParams;
  assert.throws(() => calls.generation(wrong, "k", {}), /tier must be one of fast, quality, pro, not "best"/);
  assert.throws(() => calls.aboutJob(""), /job_id is empty/);
  for (const tier of ["toString", undefined, ["fast"]]) {
    const params = { ...BODY, tier } as unknown as GenerationParams;
    assert.throws(() => calls.generation(params, "k", {}), /tier must be one of/);
  }
  assert.throws(() => calls.generation(undefined as unknown as GenerationParams, "k", {}), /tier must be one of/);
  // @ts-expect-error: fast has one resolution, and takes no such field.
  calls.generation({ ...BODY, tier: "fast", resolution: "2K" }, "k", {});
});

test("a job id stays one part of the path", () => {
  assert.equal(calls.aboutJob("../key?x").path, "/api/v1/jobs/..%2Fkey%3Fx");
});

test("what names no job or batch is refused", () => {
  for (const ref of [null, undefined, 5, {}, ["id"], { job_id: null }] as unknown as { job_id: string; batch_id: string }[]) {
    assert.throws(() => calls.aboutJob(ref), /pass a job_id, or an object that has one, not/);
    assert.throws(() => calls.aboutBatch(ref), /pass a batch_id, or an object that has one, not/);
  }
});

test("what is no list of requests is refused", () => {
  const cases = [
    ["abc", /requests must be an array/],
    [null, /must be an array/],
    [{ ...BODY }, /must be an array/],
    [["abc"], /requests\[0\] must be an object/],
    [[null], /requests\[0\]/],
  ];
  for (const [requests, text] of cases as [Iterable<never>, RegExp][]) assert.throws(() => calls.batch(requests, "k", {}), text);
});

test("what is no object of options is refused without its value, and null is left out", async (t) => {
  const peer = await Peer.start(t);
  peer.will(told(job("done")));
  const { client } = calling(peer.url);
  const text = "tt_secret" as unknown as object;
  const isRefused = (error: unknown): boolean =>
    error instanceof ArgumentError && error.message.includes("must be an object, not a string") && !error.message.includes("tt_");
  assert.throws(() => new Tintype(text), isRefused);
  assert.throws(() => client.withOptions(text), isRefused);
  for (const wrong of [5, ["tt_x"]] as unknown as string[]) {
    assert.throws(() => new Tintype({ apiKey: wrong }), ArgumentError);
    assert.throws(() => new Tintype({ apiKey: "tt_x", baseUrl: wrong }), ArgumentError);
  }
  const request = { ...BODY, tier: "fast" } as const;
  await assert.rejects(client.generations.create(request, text), isRefused);
  await assert.rejects(client.generations.createAndWait(request, text), isRefused);
  await assert.rejects(client.batches.create([], text), isRefused);
  await assert.rejects(client.jobs.get("id", text), isRefused);
  await assert.rejects(client.jobs.wait("id", text), isRefused);
  await assert.rejects(client.batches.wait("id", text), isRefused);
  await assert.rejects(client.jobs.list(text), isRefused);
  await assert.rejects(client.jobs.iterate(text).next(), isRefused);
  assert.equal((await client.jobs.wait("id", null as unknown as object)).status, "done");
});

test("a key that cannot be sent is refused, and null is no key", async (t) => {
  const peer = await Peer.start(t);
  peer.will(created());
  const { client } = calling(peer.url);
  for (const idempotencyKey of [4711, "a\nb", "é", " a", "a ", "a b"] as string[]) {
    await assert.rejects(client.generations.create({ ...BODY, tier: "pro" }, { idempotencyKey }), ArgumentError);
    await assert.rejects(client.batches.create([], { idempotencyKey }), ArgumentError);
  }
  assert.equal(peer.heard.length, 0);
  const made = await client.generations.create({ ...BODY, tier: "pro" }, { idempotencyKey: null });
  assert.equal(peer.heard[0]?.headers["idempotency-key"], made.idempotencyKey);
  assert.equal(peer.heard[0]?.path, "/api/v1/text-generations");
});

test("a limit for queueing is sent in whole seconds", () => {
  const params = { ...BODY, tier: "pro" } as const;
  assert.deepEqual(calls.generation(params, "k", { cancelAfter: 1200 }).headers, { "cancel-after": "2s" });
  assert.deepEqual(calls.generation(params, "k", { cancelAfter: null }).headers, {});
  for (const cancelAfter of [0, -1, NaN, Infinity, "30s" as unknown as number]) {
    assert.throws(() => calls.generation(params, "k", { cancelAfter }), /cancelAfter must be/);
  }
});

test("filters and cursors may be null, and dates must be dates", () => {
  assert.deepEqual(calls.listed({ status: null, cursor: null, limit: null, metadata: null, created_after: null }), []);
  assert.throws(() => calls.listed({ created_after: new Date("soon") }), /created_after is not a valid Date/);
});

test("options that cannot be meant are refused", async (t) => {
  const peer = await Peer.start(t);
  peer.will("cut");
  const { client } = calling(peer.url);
  for (const options of [{ timeout: 0 }, { timeout: NaN }, { timeout: "5s" }, { maxRetries: -1 }, { maxRetries: NaN }] as object[]) {
    assert.throws(() => new Tintype({ apiKey: "tt_k", baseUrl: peer.url, ...options }), ArgumentError);
    assert.throws(() => client.withOptions(options), ArgumentError);
    await assert.rejects(client.balance(options), ArgumentError);
  }
  for (const waitTimeout of [NaN, "5" as unknown as number]) {
    await assert.rejects(client.jobs.wait("j", { waitTimeout }), /waitTimeout must be/);
    await assert.rejects(client.batches.wait("b", { waitTimeout }), /waitTimeout must be/);
    await assert.rejects(client.generations.createAndWait({ ...BODY, tier: "pro" }, { waitTimeout }), /waitTimeout must be/);
  }
  assert.equal(peer.heard.length, 0);
  await assert.rejects(client.withOptions({ maxRetries: 1 }).balance(), (error: ApiConnectionError) => error.attempts === 2);
});

test("an empty address in the environment is the default", (t) => {
  t.after(() => delete process.env["TINTYPE_URL"]);
  process.env["TINTYPE_URL"] = "";
  assert.equal(new Tintype({ apiKey: "tt_k" }).transport.address, "http://127.0.0.1:8080");
});

test("filters are told as the list reads them", () => {
  const created_after = new Date("2026-11-18T12:06:40+01:00");
  const query = calls.listed({ status: "done", created_after, metadata: { order: "4711", n: 7, paid: true, note: null }, limit: 5 });
  assert.deepEqual(Object.fromEntries(query), {
    status: "done",
    created_after: "2026-11-18T11:06:40.000Z",
    limit: "5",
    "metadata[order]": "4711",
    "metadata[n]": "7",
    "metadata[paid]": "true",
    "metadata[note]": "null",
  });
});

test("the address may have the version or not, and a prefix", async (t) => {
  const peer = await Peer.start(t);
  peer.will(told(job()));
  for (const end of ["", "/", "/api/v1", "/api/v1/", "/pictures/api/v1"]) await calling(peer.url + end).client.jobs.get("j");
  const paths = peer.heard.map(({ path }) => path);
  assert.deepEqual(paths, [...Array<string>(4).fill("/api/v1/jobs/j"), "/pictures/api/v1/jobs/j"]);
});

test("a creation is JSON with a key, and a dry run has none", async (t) => {
  const peer = await Peer.start(t);
  peer.will(created(), told({ price: "0.039", available: "1.00" }));
  const { client } = calling(peer.url);
  await client.generations.create({ ...BODY, tier: "fast", metadata: { a: 1 } }, { idempotencyKey: "order-4711" });
  await client.generations.dryRun({ ...BODY, tier: "fast" });
  const [real, dry] = peer.heard;
  assert.equal(real?.headers["content-type"], "application/json");
  assert.equal(real?.headers["authorization"], "Bearer tt_k");
  assert.equal(real?.headers["idempotency-key"], "order-4711");
  assert.match(real?.headers["user-agent"] ?? "", /^tintype-js\//);
  assert.deepEqual(JSON.parse(real?.body ?? ""), { ...BODY, metadata: { a: 1 } });
  assert.equal(dry?.path, "/api/v1/nb/text-generations?dry_run=true");
  assert.equal(dry?.headers["idempotency-key"], undefined);
});

test("what is left out comes from the environment", (t) => {
  t.after(() => {
    delete process.env["TINTYPE_KEY"];
    delete process.env["TINTYPE_URL"];
  });
  process.env["TINTYPE_KEY"] = "tt_env\n";
  process.env["TINTYPE_URL"] = "https://env.example";
  const client = new Tintype();
  assert.equal(client.transport.address, "https://env.example");
  assert.ok(!JSON.stringify(client).includes("tt_env"));
  delete process.env["TINTYPE_KEY"];
  assert.throws(() => new Tintype(), TintypeError);
});

test("a client that cannot work is not made", () => {
  const cases = [
    ["127.0.0.1:8080", /must begin with http/],
    ["http://[", /not a valid URL/],
    ["https://h?a=b", /the address of the service/],
  ] as const;
  for (const [baseUrl, text] of cases) assert.throws(() => new Tintype({ apiKey: "tt_k", baseUrl }), text);
  const withPassword = { apiKey: "tt_k", baseUrl: "https://user:hunter2@h" };
  assert.throws(() => new Tintype(withPassword), ({ message }: Error) => /must not contain a user/.test(message) && !message.includes("hunter2"));
});

test("where there is no Node, nothing of it is looked for, and a browser names itself", async () => {
  const sent: Headers[] = [];
  const own: typeof fetch = async (_, init) => {
    sent.push(new Headers(init?.headers));
    return Response.json({ balance: "1.00", reserved: "0.00", available: "1.00" });
  };
  const { process } = globalThis;
  try {
    Object.assign(globalThis, { process: undefined, document: {} });
    assert.throws(() => new Tintype(), TintypeError);
    await new Tintype({ apiKey: "tt_k", baseUrl: "http://h", fetch: own }).balance();
  } finally {
    Object.assign(globalThis, { process });
    Reflect.deleteProperty(globalThis, "document");
  }
  assert.deepEqual(sent.map((headers) => headers.has("user-agent")), [false]);
});

test("a fetch of the caller's own is used", async () => {
  const asked: string[] = [];
  const own: typeof fetch = async (input) => {
    asked.push(String(input));
    return Response.json({ balance: "1.00", reserved: "0.00", available: "1.00" });
  };
  assert.equal((await new Tintype({ apiKey: "tt_k", baseUrl: "http://h", fetch: own }).balance()).available, "1.00");
  assert.deepEqual(asked, ["http://h/api/v1/balance"]);
});
