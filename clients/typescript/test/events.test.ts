// Server-sent events, as bytes come and as streams break off.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Reader } from "../src/events.js";
import { ApiConnectionError, ApiError, UnexpectedAnswerError } from "../src/index.js";
import type { JobEvent, Tintype } from "../src/index.js";
import { calling, job, JOB_ID, Peer, problem, sum } from "./peer.js";
import type { Reply } from "./peer.js";

const STREAM = new TextEncoder().encode(
  ': hello\r\nretry: 1500\n\nid: 1\nevent: status\ndata: {"a":\ndata:"é \u2028"}\n\n' +
    "event: lost\n\ndata\n\nid: 2\rdata:  x\r\rid\ndata: y\n\ndata: unfinished",
);

test("events are the same however the bytes are cut", () => {
  for (const size of [1, 2, 3, 7, STREAM.length]) {
    const reader = new Reader();
    const heard = [];
    for (let at = 0; at < STREAM.length; at += size) heard.push(...reader.feed(STREAM.subarray(at, at + size)));
    assert.deepEqual(heard, [
      { name: "status", data: '{"a":\n"é \u2028"}', id: "1" },
      { name: "message", data: "", id: "1" },
      { name: "message", data: " x", id: "2" },
      { name: "message", data: "y", id: "" },
    ]);
    assert.equal(reader.retry, 1500);
  }
});

/** A stream that ends where the parts do. */
const stream = (...parts: string[]): Reply => ({ status: 200, body: parts.join(""), headers: { "content-type": "text/event-stream" } });
const state = (number: number, status: string): string => `id: ${number}\nevent: status\ndata: ${JSON.stringify(job(status))}\n\n`;
const START = "2026-11-20T20:12:40.000Z";
const PLACE = `event: queue\ndata: {"job_id":"${JOB_ID}","queue_position":36,"estimated_start_at":"${START}"}\n\n`;
const PROGRESS = `event: progress\ndata: {"job_id":"${JOB_ID}","progress":0.42}\n\n`;

async function all(client: Tintype): Promise<JobEvent[]> {
  const heard: JobEvent[] = [];
  for await (const event of client.jobs.events(JOB_ID)) heard.push(event);
  return heard;
}

const states = (heard: JobEvent[]): string[] => heard.flatMap((it) => (it.type === "status" ? [it.job.status] : []));

test("a job is followed to its end", async (t) => {
  const peer = await Peer.start(t);
  const strange = 'event: mood\ndata: {"new": true}\n\n';
  peer.will(stream("retry: 2000\n\n", state(1, "queued"), PLACE, state(2, "processing"), PROGRESS, strange, state(3, "done"), "data: more\n\n"));
  const { client, pauses } = calling(peer.url);
  const heard = await all(client);
  assert.deepEqual(states(heard), ["queued", "processing", "done"]);
  assert.deepEqual(heard.filter((it) => it.type === "queue"), [{ type: "queue", job_id: JOB_ID, queue_position: 36, estimated_start_at: START }]);
  assert.deepEqual(heard.filter((it) => it.type === "progress"), [{ type: "progress", job_id: JOB_ID, progress: 0.42 }]);
  assert.deepEqual(pauses, []);
  assert.equal(peer.heard.length, 1);
  assert.equal(peer.heard[0]?.headers["last-event-id"], undefined);
  assert.equal(peer.heard[0]?.headers["authorization"], "Bearer tt_k");
  assert.equal(peer.heard[0]?.headers["accept-encoding"], "identity");
});

test("a stream that breaks off is taken up where it was", async (t) => {
  const peer = await Peer.start(t);
  peer.will(
    stream("retry: 1500\n\n", state(1, "queued"), "id: 2\nevent: status\ndata: {"),
    "cut",
    problem(503, "overloaded", { "retry-after": "5" }),
    stream(state(2, "processing")),
    stream(state(3, "failed")),
  );
  const { client, pauses } = calling(peer.url);
  assert.deepEqual(states(await all(client)), ["queued", "processing", "failed"]);
  assert.deepEqual(peer.heard.map(({ headers }) => headers["last-event-id"]), [undefined, "1", "1", "1", "2"]);
  assert.equal(pauses[0], 1500);
  assert.deepEqual(pauses.slice(2), [5000, 1500]);
});

test("a stream outlives maintenance of more than a minute", async (t) => {
  const peer = await Peer.start(t);
  const paused = (seconds: string): Reply => problem(503, "paused", { "retry-after": seconds });
  peer.will(paused("90"), stream(state(1, "done")), paused("900"));
  const { client, pauses } = calling(peer.url);
  assert.deepEqual(states(await all(client)), ["done"]);
  assert.deepEqual(pauses, [90_000]);
  await assert.rejects(all(client), (error: ApiError) => error instanceof ApiError && error.code === "paused");
});

test("who has heard the end hears nothing", async (t) => {
  const peer = await Peer.start(t);
  peer.will({ status: 204 });
  assert.deepEqual(await all(calling(peer.url).client), []);
});

test("an unknown job has no events", async (t) => {
  const peer = await Peer.start(t);
  peer.will(problem(404, "not_found"));
  await assert.rejects(all(calling(peer.url).client), (error: ApiError) => error instanceof ApiError && error.code === "not_found");
});

test("streams that never tell anything are not followed forever", async (t) => {
  const peer = await Peer.start(t);
  peer.will(stream("retry: 8000\n\n"));
  const { client, pauses } = calling(peer.url);
  await assert.rejects(all(client), (error: ApiConnectionError) => {
    return error.attempts === peer.heard.length && error.jobId === JOB_ID;
  });
  assert.ok(sum(pauses) > 580_000 && sum(pauses) <= 600_000);
});

test("streams that only ever say that they are there are followed for as long as it takes", async () => {
  // As of a job that waits in a queue, behind something that ends each answer after a minute.
  const { client } = calling("http://127.0.0.1");
  let now = 0;
  client.transport.now = () => now;
  client.transport.pause = async (span) => void (now += span);
  let opened = 0;
  client.transport.open = async () => {
    opened += 1;
    const later = opened <= 100 ? [45_000, 15_000] : [0, 0];
    const bytes = new TextEncoder().encode(": still here\n\n");
    const parts = later.map((span) => ({ span, bytes }));
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        pull(controller) {
          const part = parts.shift();
          now += part?.span ?? 0;
          if (part === undefined) controller.close();
          else controller.enqueue(part.bytes);
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  // Streams that end at once are another matter.
  await assert.rejects(all(client), /ended before the job did/);
  assert.ok(opened > 300 && opened < 500);
});

test("the time that the caller spends on an event does not count", async (t) => {
  const peer = await Peer.start(t);
  peer.will(stream(state(1, "queued")), stream(state(2, "done")));
  const { client } = calling(peer.url);
  let now = 0;
  client.transport.now = () => now;
  const heard: JobEvent[] = [];
  for await (const event of client.jobs.events(JOB_ID)) {
    heard.push(event);
    now += 3_600_000;
  }
  assert.deepEqual(states(heard), ["queued", "done"]);
});

test("a caller who wants no repeats gets none", async (t) => {
  const peer = await Peer.start(t);
  peer.will("cut");
  await assert.rejects(all(calling(peer.url, { maxRetries: 0 }).client), ApiConnectionError);
  assert.equal(peer.heard.length, 1);
});

test("what is no stream is told", async (t) => {
  const peer = await Peer.start(t);
  peer.will({ status: 200, body: "<html>", headers: { "content-type": "text/html" } });
  await assert.rejects(all(calling(peer.url).client), UnexpectedAnswerError);
  peer.will(stream("event: status\ndata: []\n\n"));
  await assert.rejects(all(calling(peer.url).client), (error: UnexpectedAnswerError) => {
    return error instanceof UnexpectedAnswerError && error.jobId === JOB_ID;
  });
});

test("a listener who goes away ends the stream", async (t) => {
  const peer = await Peer.start(t);
  const going = new AbortController();
  peer.will("silence");
  const heard = calling(peer.url).client.jobs.events(JOB_ID, { signal: going.signal }).next();
  await peer.somethingHeard();
  going.abort(new Error("enough"));
  await assert.rejects(heard, /enough/);
});
