// Downloads of images: what a client makes of expired URLs, broken answers, and answers that are not images.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import {
  ApiConnectionError,
  ApiError,
  ApiTimeoutError,
  JobFailedError,
  JobUnfinishedError,
  Tintype,
  UnexpectedAnswerError,
} from "../src/index.js";
import { calling, job, JOB_ID, Peer, problem, told } from "./peer.js";
import type { Reply } from "./peer.js";

// Of a timeout that is meant to run out, in milliseconds.
const SHORT = 150;

const withCode = (code: string | null) => (error: unknown): boolean => error instanceof ApiError && error.code === code;

const PNG: Reply = { status: 200, body: "PNG whole", headers: { "content-type": "image/png" } };
const done = (peer: Peer): Reply => told(job("done", { url: `${peer.url}/files/results%2Fa.png?expires=1&signature=00ff` }));
const ofABucket = (status: number, code: string): Reply => {
  return { status, body: `<Error><Code>${code}</Code></Error>`, headers: { "content-type": "application/xml" } };
};

test("an image that was passed on leaves nothing on the caller's signal", async (t) => {
  const peer = await Peer.start(t);
  const { client } = calling(peer.url);
  const { signal } = new AbortController();
  const open = async (): Promise<Response> => {
    peer.will(done(peer), PNG);
    return client.jobs.open(JOB_ID, { signal });
  };
  assert.equal(await (await open()).text(), PNG.body);
  await (await open()).body?.cancel();
  const half = await open();
  assert.equal(half.headers.get("content-type"), "image/png");
  assert.match(half.url, /files\/results/);
  assert.equal(getEventListeners(signal, "abort").length, 1);
  await half.arrayBuffer();
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("the timeout limits each read of an image that is passed on, not the time between two", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  // The server sends the second half after so many milliseconds.
  const opened = async (span: number): Promise<ReadableStreamDefaultReader<Uint8Array>> => {
    const chunks = ["PNG ", "whole"];
    const answering: typeof fetch = async (url, init) => {
      if (String(url).includes("/api/")) return Response.json(job("done", { url: "http://h/files/a.png" }));
      const signal = init?.signal as AbortSignal;
      const pull = (controller: ReadableStreamDefaultController): void => {
        if (chunks.length === 1) t.mock.timers.tick(span);
        if (signal.aborted) return controller.error(signal.reason);
        const chunk = chunks.shift();
        if (chunk === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(chunk));
      };
      return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
    };
    const response = await new Tintype({ apiKey: "tt_k", baseUrl: "http://h", timeout: 150, fetch: answering }).jobs.open(JOB_ID);
    return response.body!.getReader();
  };
  const patient = await opened(100);
  assert.equal((await patient.read()).value?.length, 4);
  // The reader takes its time.
  t.mock.timers.tick(1000);
  assert.equal((await patient.read()).value?.length, 5);
  assert.equal((await patient.read()).done, true);
  const stalled = await opened(200);
  await stalled.read();
  await assert.rejects(stalled.read(), (error: DOMException) => error.name === "TimeoutError");
});

test("a caller who goes away while an image is passed on ends it", async (t) => {
  const peer = await Peer.start(t);
  const { client } = calling(peer.url);
  const going = new AbortController();
  // Its head is there, and the rest never comes.
  peer.will(done(peer), { ...PNG, headers: { "content-length": "99" }, open: true });
  const response = await client.jobs.open(JOB_ID, { signal: going.signal });
  const reading = response.text();
  going.abort(new Error("enough"));
  await assert.rejects(reading, /enough/);
  assert.equal(getEventListeners(going.signal, "abort").length, 0);
});

test("an image that is to be passed on is told when it does not come", async (t) => {
  const peer = await Peer.start(t);
  const { client } = calling(peer.url, { timeout: SHORT });
  peer.will(done(peer), "silence");
  await assert.rejects(client.jobs.open(JOB_ID), ApiTimeoutError);
  peer.will(done(peer), "cut");
  await assert.rejects(client.jobs.open(JOB_ID), ApiConnectionError);
  peer.will(done(peer), PNG);
  assert.equal(await (await client.jobs.open(JOB_ID)).text(), PNG.body);
});

test("an image is fetched at its signed URL, without the key", async (t) => {
  const peer = await Peer.start(t);
  peer.will(done(peer), PNG);
  assert.equal(Buffer.from(await calling(peer.url).client.jobs.download(JOB_ID)).toString(), PNG.body);
  assert.equal(peer.heard[0]?.headers["authorization"], "Bearer tt_k");
  assert.equal(peer.heard[1]?.path, "/files/results%2Fa.png?expires=1&signature=00ff");
  assert.equal(peer.heard[1]?.headers["authorization"], undefined);
});

test("an image that breaks off is fetched again", async (t) => {
  const peer = await Peer.start(t);
  const half = { ...PNG, body: "PNG ", headers: { "content-length": "99" }, cut: true };
  const { client } = calling(peer.url);
  peer.will(done(peer), half, PNG);
  assert.equal(Buffer.from(await client.jobs.download(JOB_ID)).toString(), PNG.body);
  for (const call of [() => client.jobs.download(JOB_ID), () => client.jobs.open(JOB_ID)]) {
    peer.will(done(peer), "cut");
    await assert.rejects(call, (error: ApiConnectionError) => error.jobId === JOB_ID && !error.message.includes("signature"));
  }
  peer.will(done(peer), half);
  await assert.rejects(client.jobs.download(JOB_ID), (error: ApiConnectionError) => !error.message.includes("signature"));
});

test("an expired URL is renewed once", async (t) => {
  const peer = await Peer.start(t);
  const expired = problem(403, "url_expired");
  const { client } = calling(peer.url);
  peer.will(done(peer), expired, done(peer), PNG);
  assert.equal((await client.jobs.download(JOB_ID)).length, 9);
  peer.will(done(peer), expired, done(peer), PNG);
  assert.equal(await (await client.jobs.open(JOB_ID)).text(), PNG.body);
  peer.will(done(peer), expired, done(peer), expired);
  await assert.rejects(client.jobs.download(JOB_ID), withCode("url_expired"));
});

test("a bucket is asked once more at a new URL, and is named in the error", async (t) => {
  const peer = await Peer.start(t);
  const { client } = calling(peer.url);
  const calls = [() => client.jobs.download(JOB_ID), async () => (await client.jobs.open(JOB_ID)).arrayBuffer()];
  const expired = ofABucket(403, "AccessDenied");
  for (const call of calls) {
    peer.will(done(peer), expired, done(peer), PNG);
    assert.equal((await call()).byteLength, 9);
    for (const moves of [[expired, done(peer), expired], [ofABucket(404, "NoSuchKey")]]) {
      peer.will(done(peer), ...moves);
      await assert.rejects(call, (error: ApiError) => {
        assert.match(error.message, /the image store returned 40[34]: the image was deleted or its URL has expired$/);
        return error.code === null;
      });
    }
    peer.will(done(peer), ofABucket(503, "SlowDown"));
    await assert.rejects(call, /the image store returned 503$/);
  }
});

test("an image that is not there is told", async (t) => {
  const peer = await Peer.start(t);
  const { client } = calling(peer.url);
  peer.will(told(job("processing")));
  await assert.rejects(client.jobs.download(JOB_ID), JobUnfinishedError);
  peer.will(told(job("failed", { error: "no image" })));
  await assert.rejects(client.jobs.open(JOB_ID), JobFailedError);
  peer.will(done(peer), problem(410, "gone"));
  await assert.rejects(client.jobs.open(JOB_ID), withCode("gone"));
});

test("what is no image is told", async (t) => {
  const peer = await Peer.start(t);
  const { client } = calling(peer.url);
  const replies: Reply[] = [
    { status: 200, body: "<html>log in</html>", headers: { "content-type": "text/html; charset=utf-8" } },
    told({ message: "log in" }),
    { ...PNG, body: "" },
    { ...PNG, status: 203 },
    { status: 204 },
  ];
  for (const reply of replies) {
    for (const call of [() => client.jobs.download(JOB_ID), () => client.jobs.open(JOB_ID)]) {
      peer.will(done(peer), reply);
      await assert.rejects(call, (error: UnexpectedAnswerError) => {
        assert.ok(error instanceof UnexpectedAnswerError);
        assert.match(error.message, /the image store returned 20.*, which is empty or not an image$/);
        return error.jobId === JOB_ID && !error.message.includes("signature");
      });
    }
  }
});
