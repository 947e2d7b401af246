// When a call is sent again, and after how long.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pauseAfter, pauseWhileWaiting, retryAfter } from "../src/retry.js";
import type { Outcome } from "../src/retry.js";

const answer = (status: number, after?: string): Outcome => {
  const headers = after === undefined ? {} : { "retry-after": after };
  return { kind: "answer", response: new Response(null, { status, headers }), body: new Uint8Array() };
};

test("a passing failure is repeated", () => {
  for (const status of [408, 425, 429, 500, 502, 503, 504, 520, 524]) assert.equal(pauseAfter(answer(status), 1, 2, 0), 500);
  assert.equal(pauseAfter({ kind: "fault", cause: null, isTimeout: true }, 1, 2, 0), 500);
});

test("a refusal is not", () => {
  for (const status of [301, 400, 401, 402, 403, 404, 405, 409, 410, 413, 415, 416, 422]) {
    assert.equal(pauseAfter(answer(status, "1"), 1, 2, 0), null);
  }
});

test("pauses double up to eight seconds, less a quarter by chance", () => {
  const pauses = [1, 2, 3, 4, 5, 6].map((attempt) => pauseAfter(answer(500), attempt, 9, 0));
  assert.deepEqual(pauses, [500, 1000, 2000, 4000, 8000, 8000]);
  assert.equal(pauseAfter(answer(500), 3, 9, 1), 1500);
});

test("only so many repeats are made", () => {
  assert.notEqual(pauseAfter(answer(503), 2, 2, 0), null);
  assert.equal(pauseAfter(answer(503), 3, 2, 0), null);
  assert.equal(pauseAfter(answer(503), 1, 0, 0), null);
});

test("Retry-After is honoured in full, up to a minute", () => {
  for (const [text, span] of [["30", 30_000], ["60", 60_000], ["61", null]] as const) {
    assert.equal(pauseAfter(answer(503, text), 1, 2, 1), span);
  }
});

test("Retry-After is limited by the time of a wait only", () => {
  assert.equal(pauseWhileWaiting(answer(503, "90"), 1, 2, 0), 90_000);
  assert.equal(pauseWhileWaiting(answer(503, "90"), 1, 0, 0), null);
});

test("a shorter Retry-After does not shorten the pauses", () => {
  for (const text of ["0", "1", "Sat, 21 Nov 2015 20:00:07 GMT"]) {
    const pauses = [2, 3, 4, 5, 6].map((attempt) => pauseWhileWaiting(answer(503, text), attempt, 2, 0));
    assert.deepEqual(pauses, [1000, 2000, 4000, 8000, 8000], text);
  }
});

test("Retry-After is seconds or a date", () => {
  const now = Date.parse("2026-11-21T20:00:00Z");
  const cases: [string, number | null][] = [
    ["5", 5000],
    ["Sat, 21 Nov 2026 20:00:07 GMT", 7000],
    ["Sat, 21 Nov 2026 19:00:00 GMT", 0],
    ["", null],
    ["soon", null],
    ["-1", null],
    ["1.5", null],
  ];
  for (const [text, span] of cases) assert.equal(retryAfter(new Headers({ "retry-after": text }), now), span, text);
});
