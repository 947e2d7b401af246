// What is sent, and what is refused before anything is.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as calls from "../src/calls.js";
import { Tintype, TintypeError } from "../src/index.js";
import type { GenerationParams } from "../src/index.js";
import { calling, created, job, Peer, told } from "./peer.js";

const BODY = { prompt: "a fox", aspect_ratio: "1:1" } as const;

test("tier and input images choose one of the six paths", () => {
  const cases = [["pro", ""], ["quality", "/nb2"], ["fast", "/nb"]] as const;
  for (const [tier, path] of cases) {
    const text = calls.generation({ ...BODY, tier }, "k", {});
    assert.equal(text.path, `/api/v1${path}/text-generations`);
    assert.deepEqual(text.body, BODY);
    const urls = { input_images_urls: ["http://h/a.png"] };
    const image = calls.generation({ ...BODY, ...urls, tier }, "k", {});
    assert.equal(image.path, `/api/v1${path}/url-generations`);
    assert.deepEqual(image.body, { ...BODY, ...urls });
  }
});

test("what cannot be meant is refused here", () => {
  const wrong = { ...BODY, tier: "best" } as unknown as GenerationParams;
  assert.throws(() => calls.generation(wrong, "k", {}), /tier must be one of fast, quality, pro, not best/);
  assert.throws(() => calls.lookup("", {}), /job_id is empty/);
  // @ts-expect-error: fast has one resolution, and takes no such field.
  calls.generation({ ...BODY, tier: "fast", resolution: "2K" }, "k", {});
});

test("a job id stays one part of the path", () => {
  assert.equal(calls.lookup("../key?x", {}).path, "/api/v1/jobs/..%2Fkey%3Fx");
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
  assert.throws(() => new Tintype({ apiKey: "tt_k", baseUrl: "127.0.0.1:8080" }), /must begin with http/);
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
