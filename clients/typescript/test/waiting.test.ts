// Waiting for jobs: what it outlives, when it ends, and what is left in hand when it fails.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiConnectionError, ApiError, CallError, JobError, JobFailedError, UnexpectedAnswerError, WaitTimeoutError } from "../src/index.js";
import type { Job } from "../src/index.js";
import { calling, created, job, JOB_ID, Peer, problem, sum, told } from "./peer.js";
import type { Move } from "./peer.js";

const FOX = { prompt: "a fox", tier: "fast", aspect_ratio: "1:1" } as const;

test("waiting outlives a restart", async (t) => {
  const peer = await Peer.start(t);
  // Told to go, then refused, then answered by the one that took over.
  const cuts = Array<"cut">(6).fill("cut");
  const gone = problem(503, "overloaded", { "retry-after": "5" });
  peer.will(told(job("queued")), gone, ...cuts, told(job("processing")), told(job()));
  const { client, pauses } = calling(peer.url);
  assert.equal((await client.jobs.wait(JOB_ID)).status, "done");
  assert.deepEqual(new Set(peer.heard.map(({ path }) => path)), new Set([`/api/v1/jobs/${JOB_ID}?wait=30`]));
  assert.deepEqual(pauses.slice(0, 2), [1000, 5000]);
});

test("waiting outlives maintenance of more than a minute", async (t) => {
  const peer = await Peer.start(t);
  peer.will({ status: 503, body: "<html>maintenance</html>", headers: { "retry-after": "90" } }, told(job()));
  const { client, pauses } = calling(peer.url);
  assert.equal((await client.jobs.wait(JOB_ID)).status, "done");
  assert.deepEqual(pauses, [90_000]);
});

test("waiting ends when its time is over", async (t) => {
  const peer = await Peer.start(t);
  peer.will(told(job("processing")));
  await assert.rejects(calling(peer.url).client.jobs.wait(JOB_ID, { waitTimeout: 0 }), (error: WaitTimeoutError) => {
    assert.ok(error instanceof WaitTimeoutError);
    return error.job?.job_id === JOB_ID && error.message.includes("still processing after 0 ms");
  });
  assert.deepEqual(peer.heard.map(({ path }) => path), [`/api/v1/jobs/${JOB_ID}?wait=0`]);
});

test("waiting does not sleep past its time, and tells what it saw", async (t) => {
  const peer = await Peer.start(t);
  const paused = problem(503, "paused", { "retry-after": "30" });
  const { client, pauses } = calling(peer.url);
  peer.will(paused);
  await assert.rejects(client.jobs.wait(JOB_ID, { waitTimeout: 20_000 }), (error: WaitTimeoutError) => {
    assert.ok(error instanceof WaitTimeoutError && error.cause instanceof ApiError);
    assert.match(error.message, /was not seen; no lookup succeeded within 20000 ms; the last one: 503 paused/);
    return error.jobId === JOB_ID && error.job === null;
  });
  assert.deepEqual(pauses, []);
  peer.will(told(job("processing")), paused);
  await assert.rejects(client.jobs.wait(JOB_ID, { waitTimeout: 20_000 }), (error: WaitTimeoutError) => error.job?.status === "processing");
});

test("waiting outlives whatever ends within ten minutes", async (t) => {
  const peer = await Peer.start(t);
  // Eight seconds at the most before each: a service that takes long to finish its images and to start.
  peer.will(...Array<"cut">(70).fill("cut"), told(job()));
  const { client, pauses } = calling(peer.url);
  assert.equal((await client.jobs.wait(JOB_ID, { waitTimeout: null })).status, "done");
  peer.will("cut");
  pauses.length = 0;
  await assert.rejects(client.jobs.wait(JOB_ID, { waitTimeout: null }), (error: ApiConnectionError) => {
    return error instanceof ApiConnectionError && error.jobId === JOB_ID;
  });
  assert.ok(sum(pauses) > 580_000 && sum(pauses) <= 600_000);
});

test("a caller who wants no repeats of lookups gets none", async (t) => {
  const peer = await Peer.start(t);
  peer.will("cut");
  await assert.rejects(calling(peer.url, { maxRetries: 0 }).client.jobs.wait(JOB_ID), ApiConnectionError);
  assert.equal(peer.heard.length, 1);
});

test("a lookup that hangs does not outlast the wait", async () => {
  const { client } = calling("http://127.0.0.1");
  const spans: number[] = [];
  let now = 100_000;
  client.transport.now = () => now;
  client.transport.attempt = async (call) => {
    spans.push(call.limit ?? Infinity);
    now += 10_000;
    return { kind: "fault", cause: new Error("slow"), isTimeout: true };
  };
  await assert.rejects(client.jobs.wait(JOB_ID, { waitTimeout: 5_000 }), WaitTimeoutError);
  assert.deepEqual(spans, [10_000]);
});

test("the last lookup of a wait is at its end", async (t) => {
  t.mock.method(Math, "random", () => 0);
  const { client } = calling("http://127.0.0.1");
  const moments: number[] = [];
  let now = 100_000;
  client.transport.now = () => now;
  client.transport.pause = async (span) => void (now += span);
  client.transport.attempt = async () => {
    moments.push(now);
    return { kind: "fault", cause: new Error("refused"), isTimeout: false };
  };
  const waited = client.jobs.wait(JOB_ID, { waitTimeout: 5_000 });
  await assert.rejects(waited, (error: Error) => {
    return error instanceof WaitTimeoutError && /no lookup succeeded within 5000 ms.*refused/.test(error.message);
  });
  assert.deepEqual(moments, [100_000, 100_500, 101_500, 103_500, 105_000]);
});

test("an endless Retry-After is the error of a wait without limit", async (t) => {
  const peer = await Peer.start(t);
  peer.will(problem(503, "paused", { "retry-after": "9".repeat(400) }));
  await assert.rejects(calling(peer.url).client.jobs.wait(JOB_ID, { waitTimeout: null }), ApiError);
});

test("a failed job is an answer of wait, and an error of createAndWait", async (t) => {
  const peer = await Peer.start(t);
  const failed = told(job("failed", { error: "blocked for safety: the prompt" }));
  peer.will(failed);
  const { client } = calling(peer.url);
  assert.equal((await client.jobs.wait(JOB_ID)).error, "blocked for safety: the prompt");
  peer.will(created(), failed);
  await assert.rejects(client.generations.createAndWait(FOX), (error: JobFailedError) => error.job.job_id === JOB_ID);
});

// Making and waiting in one: the job is there and may be paid for, so what fails has to say which it is.
const FAILURES: [Move, new (...all: never[]) => Error][] = [
  ["cut", ApiConnectionError],
  [problem(401, "unauthorized"), ApiError],
  [problem(503, "paused", { "retry-after": "3600" }), ApiError],
  [problem(503, "paused", { "retry-after": "55" }), WaitTimeoutError],
  [{ status: 200, body: "<html>", headers: { "content-type": "text/html" } }, UnexpectedAnswerError],
  [told(job("failed", { error: "no image" })), JobFailedError],
];

for (const [move, kind] of FAILURES) {
  test(`who fails to wait with ${kind.name} for a job that was made can go on with it`, async (t) => {
    const peer = await Peer.start(t);
    for (const idempotencyKey of [undefined, "order-4711"]) {
      peer.heard.length = 0;
      peer.will(created(), move);
      const { client } = calling(peer.url);
      const waitTimeout = kind === WaitTimeoutError ? 50_000 : null;
      const failed = await client.generations.createAndWait(FOX, { idempotencyKey, waitTimeout }).catch((error: unknown) => error);
      assert.ok(failed instanceof kind && (failed instanceof CallError || failed instanceof JobError));
      const used = peer.heard[0]?.headers["idempotency-key"];
      assert.deepEqual([failed.jobId, failed.idempotencyKey], [JOB_ID, used]);
      assert.equal(idempotencyKey ?? used, used);
      peer.will(created(), told(job()));
      const again = await client.generations.createAndWait(FOX, { idempotencyKey: failed.idempotencyKey });
      assert.equal(again.job_id, failed.jobId);
      assert.equal(peer.heard.at(-2)?.headers["idempotency-key"], used);
    }
  });
}

test("a creation is not repeated after the end of the wait", async (t) => {
  const peer = await Peer.start(t);
  const paused = problem(503, "paused", { "retry-after": "30" });
  peer.will(paused);
  const { client, pauses } = calling(peer.url);
  const create = (waitTimeout?: number): Promise<Job> => client.generations.createAndWait(FOX, { idempotencyKey: "k", waitTimeout });
  await assert.rejects(create(5_000), (error: ApiError) => {
    assert.deepEqual([error.code, error.attempts, error.idempotencyKey], ["paused", 1, "k"]);
    return true;
  });
  for (const waitTimeout of [60_000, undefined]) {
    peer.will(paused, created(), told(job()));
    assert.equal((await create(waitTimeout)).status, "done");
  }
  assert.deepEqual(pauses, [30_000, 30_000]);
});

test("a creation that fails names no job", async (t) => {
  const peer = await Peer.start(t);
  peer.will("cut");
  await assert.rejects(calling(peer.url).client.generations.createAndWait(FOX, { idempotencyKey: "k" }), (error: CallError) => {
    assert.deepEqual([error.jobId, error.idempotencyKey], [undefined, "k"]);
    return true;
  });
});
