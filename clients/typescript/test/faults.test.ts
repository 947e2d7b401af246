// What a client makes of a service that fails, and of what stands in front of one.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ApiConnectionError,
  ApiError,
  ApiTimeoutError,
  ArgumentError,
  CallError,
  Tintype,
  TintypeError,
  UnexpectedAnswerError,
} from "../src/index.js";
import type { ClientOptions, GenerationParams } from "../src/index.js";
import { Transport } from "../src/transport.js";
import { calling, created, job, JOB_ID, Peer, problem, told } from "./peer.js";
import type { Reply } from "./peer.js";

const FOX = { prompt: "a fox", tier: "fast", aspect_ratio: "1:1" } as const;
// Of a timeout that is meant to run out, in milliseconds.
const SHORT = 150;

const keys = (peer: Peer): unknown[] => peer.heard.map(({ headers }) => headers["idempotency-key"]);
const withCode = (code: string | null) => (error: unknown): boolean => error instanceof ApiError && error.code === code;

test("every attempt of a creation carries one key", async (t) => {
  const peer = await Peer.start(t);
  peer.will(problem(503, "paused", { "retry-after": "30" }), "cut", created());
  const { client, pauses } = calling(peer.url);
  const made = await client.generations.create(FOX);
  assert.equal(made.job_id, JOB_ID);
  assert.deepEqual(keys(peer), Array(3).fill(made.idempotencyKey));
  assert.equal(new Set(peer.heard.map(({ body }) => body)).size, 1);
  assert.equal(pauses[0], 30_000);
  assert.ok(pauses[1] !== undefined && pauses[1] >= 750 && pauses[1] <= 1000);
});

test("every attempt of a creation carries one body, also if the caller changes its objects meanwhile", async (t) => {
  const peer = await Peer.start(t);
  const { client } = calling(peer.url);
  const order = { number: "4711" };
  const urls = ["http://h/a.png"];
  const entry = { model: "fast" as const, prompt: "a fox", aspect_ratio: "1:1" as const, metadata: order };
  const change = async (): Promise<"cut"> => {
    order.number = entry.prompt = urls[0] = "changed";
    return "cut";
  };
  peer.will(change, created());
  await client.generations.create({ ...FOX, input_images_urls: urls, metadata: order });
  peer.will(change, problem(402, "insufficient_balance"));
  [order.number, entry.prompt] = ["4711", "a fox"];
  await assert.rejects(client.batches.create([entry], { metadata: order }), ApiError);
  const bodies = peer.heard.map(({ body }) => body);
  assert.equal(bodies.length, 4);
  assert.deepEqual([bodies[0], bodies[2]], [bodies[1], bodies[3]]);
  assert.ok(bodies.every((body) => !body.includes("changed")));
});

test("two creations carry two keys, and a caller may name one", async (t) => {
  const peer = await Peer.start(t);
  peer.will(created(), created(), created({ "idempotent-replayed": "true" }));
  const { client } = calling(peer.url);
  const made = [await client.generations.create(FOX), await client.generations.create(FOX)];
  made.push(await client.generations.create(FOX, { idempotencyKey: "order-4711" }));
  assert.equal(new Set(keys(peer)).size, 3);
  assert.equal(keys(peer)[2], "order-4711");
  assert.deepEqual(made.map(({ replayed }) => replayed), [false, false, true]);
});

test("a failure that stays is told by its code", async (t) => {
  const peer = await Peer.start(t);
  for (const [status, code] of [[429, "rate_limited"], [500, "internal"], [502, "storage_unavailable"], [503, "paused"]] as const) {
    peer.heard.length = 0;
    peer.will(problem(status, code, { "retry-after": "2" }));
    const { client, pauses } = calling(peer.url);
    await assert.rejects(client.generations.create(FOX, { idempotencyKey: "k" }), (error: ApiError) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.status, error.code, error.detail, error.requestId, error.retryAfter], [status, code, "why", "r-1", 2000]);
      assert.deepEqual([error.attempts, error.idempotencyKey], [3, "k"]);
      assert.equal(error.message, `${status} ${code}: why (request r-1)`);
      return true;
    });
    assert.equal(peer.heard.length, 3);
    assert.deepEqual(pauses, [2000, 2000]);
  }
});

test("a refusal is sent once, and names every field", async (t) => {
  const peer = await Peer.start(t);
  const errors = [{ field: "prompt", message: "is required" }, { field: "size", message: "is unknown" }];
  const body = { status: 422, code: "validation_failed", detail: "2 fields", request_id: "r", errors };
  peer.will(told(body, 422, { "content-type": "application/problem+json" }));
  await assert.rejects(calling(peer.url).client.generations.create(FOX), (error: ApiError) => {
    assert.deepEqual(error.errors, errors);
    assert.equal(error.message, "422 validation_failed: 2 fields; prompt: is required; size: is unknown (request r)");
    return true;
  });
  assert.equal(peer.heard.length, 1);
});

test("more patience than a minute is the caller's to have", async (t) => {
  const peer = await Peer.start(t);
  peer.will(problem(503, "paused", { "retry-after": "3600" }));
  await assert.rejects(calling(peer.url).client.generations.create(FOX), (error: ApiError) => error.retryAfter === 3_600_000);
  assert.equal(peer.heard.length, 1);
});

test("the id of a request may be in the header only", async (t) => {
  const peer = await Peer.start(t);
  const { client } = calling(peer.url);
  for (const request_id of ["", null]) {
    const body = { status: 404, code: "not_found", detail: "why", request_id };
    for (const [header, text] of [["r-2", " (request r-2)"], ["", ""]] as const) {
      peer.will(told(body, 404, { "content-type": "application/problem+json", "x-request-id": header }));
      await assert.rejects(client.balance(), (error: ApiError) => error.message === `404 not_found: why${text}`);
    }
  }
});

test("an error of a proxy has no code", async (t) => {
  const peer = await Peer.start(t);
  const replies: Reply[] = [
    { status: 502, body: "<html>Bad Gateway</html>", headers: { "content-type": "text/html" } },
    { status: 502, body: "not JSON", headers: { "content-type": "application/problem+json" } },
    { status: 502, body: "[]", headers: { "content-type": "application/problem+json" } },
  ];
  for (const reply of replies) {
    peer.will(reply);
    await assert.rejects(calling(peer.url).client.balance(), (error: ApiError) => {
      assert.deepEqual([error.status, error.code, error.attempts], [502, null, 3]);
      assert.match(error.detail, /not in the format of the service \(.*\): baseUrl is wrong/);
      return true;
    });
  }
});

test("a timeout limits each pause of an answer, not the whole answer", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  // Milliseconds before each chunk.
  const answering = (span: number): typeof fetch => async (_, init) => {
    const signal = init?.signal as AbortSignal;
    const chunks = ['{"balance":"1.00",', '"reserved":"0.00",', '"available":"1.00"}'];
    const pull = (controller: ReadableStreamDefaultController): void => {
      t.mock.timers.tick(span);
      if (signal.aborted) return controller.error(signal.reason);
      const chunk = chunks.shift();
      if (chunk === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(chunk));
    };
    return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers: { "content-type": "application/json" } });
  };
  const options = { apiKey: "tt_k", baseUrl: "http://h", timeout: 150, maxRetries: 0 };
  assert.equal((await new Tintype({ ...options, fetch: answering(100) }).balance()).available, "1.00");
  await assert.rejects(new Tintype({ ...options, fetch: answering(200) }).balance(), ApiTimeoutError);
});

test("a message has the first of many faults", async (t) => {
  const peer = await Peer.start(t);
  const errors = Array.from({ length: 100 }, (_, index) => ({ field: `requests[${index}].prompt`, message: "is required" }));
  const body = { status: 422, code: "validation_failed", detail: "100 fields", request_id: "r", errors };
  peer.will(told(body, 422, { "content-type": "application/problem+json" }));
  await assert.rejects(calling(peer.url).client.batches.create([]), (error: ApiError) => {
    assert.match(error.message, /requests\[9\]\.prompt: is required; and 90 more \(request r\)$/);
    assert.equal(error.errors.length, 100);
    return true;
  });
});

test("a redirect is not followed with a key", async (t) => {
  const peer = await Peer.start(t);
  peer.will({ status: 301, headers: { location: "https://elsewhere.example/" } });
  await assert.rejects(calling(peer.url).client.generations.create(FOX), /redirected to https:\/\/elsewhere\.example\//);
  assert.equal(peer.heard.length, 1);
});

test("a success that is not from the service is told", async (t) => {
  const peer = await Peer.start(t);
  for (const reply of [{ status: 200, body: "<html>", headers: { "content-type": "text/html" } }, told([]), told({ balance: "1" })]) {
    peer.will(reply);
    await assert.rejects(calling(peer.url).client.balance(), UnexpectedAnswerError);
  }
});

test("a connection that is refused is told after all attempts", async (t) => {
  const peer = await Peer.start(t);
  const { client } = calling(peer.url);
  peer.stop();
  await assert.rejects(client.generations.create(FOX, { idempotencyKey: "k" }), (error: ApiConnectionError) => {
    assert.ok(error instanceof ApiConnectionError && !(error instanceof ApiTimeoutError));
    assert.deepEqual([error.attempts, error.idempotencyKey], [3, "k"]);
    assert.match(error.message, /ECONNREFUSED/);
    return true;
  });
});

test("an answer that does not come is a timeout", async (t) => {
  const peer = await Peer.start(t);
  peer.will("silence");
  const { client } = calling(peer.url, { timeout: SHORT, maxRetries: 1 });
  await assert.rejects(client.generations.create(FOX, { idempotencyKey: "k" }), (error: CallError) => {
    assert.ok(error instanceof ApiTimeoutError);
    return error.attempts === 2;
  });
  assert.deepEqual(keys(peer), ["k", "k"]);
});

test("a slow answer is asked for again and is one job", async (t) => {
  const peer = await Peer.start(t);
  peer.will("silence", created());
  assert.equal((await calling(peer.url).client.generations.create(FOX, { timeout: SHORT })).job_id, JOB_ID);
  assert.equal(new Set(keys(peer)).size, 1);
});

test("half an answer is none", async (t) => {
  const peer = await Peer.start(t);
  const half = { status: 200, body: '{"balance":', headers: { "content-length": "99" }, cut: true };
  peer.will(half, told({ balance: "1.00", reserved: "0.00", available: "1.00" }));
  assert.equal((await calling(peer.url).client.balance()).available, "1.00");
});

test("what cannot be sent is told as such, and not tried", async (t) => {
  const peer = await Peer.start(t);
  peer.will(created());
  const { client } = calling(peer.url);
  const endless = { prompt: "a fox", tier: "fast", aspect_ratio: "1:1", metadata: { n: 1n } } as unknown as GenerationParams;
  const calls = [
    () => client.generations.create(endless),
    () => client.generations.create({ ...FOX, metadata: { deep: [{ n: NaN }] } }),
    () => client.generations.create({ ...FOX, metadata: { n: Infinity } }),
  ];
  for (const call of calls) {
    await assert.rejects(call, (error: ArgumentError) => {
      assert.ok(error instanceof ArgumentError);
      return error.message.startsWith("POST /api/v1/nb/text-generations cannot be sent: ");
    });
  }
  assert.equal(peer.heard.length, 0);
});

test("a client that cannot be is told so when it is made", () => {
  const cases: [ClientOptions, RegExp][] = [
    [{ baseUrl: "http://[::" }, /not a valid URL/],
    [{ baseUrl: "ftp://h" }, /must begin with http/],
    [{ apiKey: "tt_é" }, /characters that no key has/],
    [{ apiKey: "tt_a\nb" }, /characters that no key has/],
  ];
  for (const [options, text] of cases) {
    assert.throws(() => new Tintype({ apiKey: "tt_k", baseUrl: "http://h", ...options }), (error: TintypeError) => {
      assert.ok(error instanceof TintypeError && !error.message.includes("tt_"));
      return text.test(error.message);
    });
  }
});

test("a caller who goes away is told so, and nothing is sent again", async (t) => {
  const peer = await Peer.start(t);
  peer.will("silence");
  const going = new AbortController();
  const call = calling(peer.url).client.balance({ signal: going.signal });
  await peer.somethingHeard();
  going.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
  assert.equal(peer.heard.length, 1);
});

test("a caller who has gone already sends nothing", async (t) => {
  const peer = await Peer.start(t);
  peer.will(told({ balance: "1.00", reserved: "0.00", available: "1.00" }));
  const signal = AbortSignal.abort(new Error("enough"));
  await assert.rejects(calling(peer.url).client.balance({ signal }), /enough/);
  assert.equal(peer.heard.length, 0);
});

test("no timeout at all is none", async (t) => {
  const peer = await Peer.start(t);
  peer.will(told({ balance: "1.00", reserved: "0.00", available: "1.00" }));
  assert.equal((await calling(peer.url, { timeout: Infinity }).client.balance()).available, "1.00");
});

test("a caller who goes away during a pause is told so", async () => {
  const going = new AbortController();
  const pause = new Transport({ apiKey: "tt_k" }).pause(60_000, going.signal);
  going.abort(new Error("enough"));
  await assert.rejects(pause, /enough/);
});

test("an error of a call about a job or a batch names it", async (t) => {
  const peer = await Peer.start(t);
  const { jobs, batches } = calling(peer.url, { maxRetries: 0 }).client;
  const ofJob = [
    () => jobs.get(JOB_ID),
    () => jobs.cancel(JOB_ID),
    () => jobs.deleteImage(JOB_ID),
    () => jobs.download(JOB_ID),
    () => jobs.open(JOB_ID),
    () => jobs.wait(JOB_ID),
    () => jobs.events(JOB_ID).next(),
  ];
  const ofBatch = [() => batches.get("b"), () => batches.cancel("b"), () => batches.results("b"), () => batches.wait("b")];
  const names = (calls: (() => Promise<unknown>)[], jobId?: string, batchId?: string): Promise<unknown> =>
    Promise.all(calls.map((call) => assert.rejects(call, (error: CallError) => {
      assert.ok(error instanceof CallError);
      assert.deepEqual([error.jobId, error.batchId], [jobId, batchId], String(call));
      return true;
    })));
  for (const move of [problem(401, "unauthorized"), "cut"] as const) {
    peer.will(move);
    await names(ofJob, JOB_ID);
    await names(ofBatch, undefined, "b");
  }
  peer.will({ status: 200, body: "<html>" });
  await names(ofBatch, undefined, "b");
});

test("a cancel whose answer was lost is found done", async (t) => {
  const peer = await Peer.start(t);
  peer.will("cut", problem(409, "conflict"), told(job("failed", { error: "canceled" })));
  assert.equal((await calling(peer.url).client.jobs.cancel(JOB_ID)).error, "canceled");
  assert.deepEqual(peer.heard.map(({ method }) => method), ["DELETE", "DELETE", "GET"]);
});

test("a cancel that came too late is a conflict", async (t) => {
  const peer = await Peer.start(t);
  peer.will(problem(409, "conflict"));
  await assert.rejects(calling(peer.url).client.jobs.cancel(JOB_ID), withCode("conflict"));
  assert.equal(peer.heard.length, 1);
  peer.will("cut", problem(409, "conflict"), told(job("failed", { error: "no image" })));
  await assert.rejects(calling(peer.url).client.jobs.cancel(JOB_ID), withCode("conflict"));
});

const RESULT = JSON.stringify({ custom_id: "0", job_id: JOB_ID, status: "failed", result: null, error: "no image" });
const LINES: Reply = { status: 200, body: `${RESULT}\n${RESULT}\n`, headers: { "content-type": "application/x-ndjson" } };

test("results that break off are fetched again", async (t) => {
  const peer = await Peer.start(t);
  const whole = String(LINES.body);
  peer.will({ ...LINES, body: whole.slice(0, -20), headers: { "content-length": String(whole.length) }, cut: true }, LINES);
  const results = await calling(peer.url).client.batches.results("b");
  assert.deepEqual(results.map(({ error }) => error), ["no image", "no image"]);
  assert.equal(peer.heard.length, 2);
});

test("results that are none are told", async (t) => {
  const peer = await Peer.start(t);
  peer.will({ ...LINES, body: `${LINES.body}<html>` });
  await assert.rejects(calling(peer.url).client.batches.results("b"), UnexpectedAnswerError);
});
