// Server-sent events: parses a stream, and reopens one that ended early.

import { ApiConnectionError, UnexpectedAnswerError } from "./errors.js";
import type { CallFacts } from "./errors.js";
import { errorOf, objectOf } from "./failures.js";
import { pauseWhileWaiting, WHILE_WAITING } from "./retry.js";
import type { Outcome } from "./retry.js";
import { isTimeout } from "./alarm.js";
import { inWords } from "./transport.js";
import type { Call, Transport } from "./transport.js";
import type { Job, JobEvent } from "./types.js";

/** Silence after which a stream counts as dead, in milliseconds. The service sends a line every 15 s. */
const SILENCE = 45_000;
/** Time after which a stream that sends anything, even only comments, counts as healthy. */
const PROVEN = 20_000;
const DEFAULT_RETRY = 2_000;

/** One event as the service sent it. */
export interface Message {
  readonly name: string;
  readonly data: string;
  readonly id: string;
}

/** Parses the bytes of a stream (HTML, section 9.2.6). */
export class Reader {
  retry: number | null = null;
  readonly #decoder = new TextDecoder();
  #rest = "";
  #name = "";
  #data: string[] = [];
  #id = "";

  /** The events that this chunk completes. */
  feed(chunk: Uint8Array): Message[] {
    const text = this.#rest + this.#decoder.decode(chunk, { stream: true });
    // The other half of a \r\n may follow.
    const held = text.endsWith("\r") ? "\r" : "";
    const lines = text.slice(0, text.length - held.length).split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + held;
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): Message[] {
    if (line === "") return this.#dispatch();
    const [, name = line, value = ""] = /^([^:]*): ?(.*)$/s.exec(line) ?? [];
    if (name === "event") this.#name = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
    return [];
  }

  #dispatch(): Message[] {
    const message = { name: this.#name || "message", data: this.#data.join("\n"), id: this.#id };
    const isEmpty = this.#data.length === 0;
    this.#name = "";
    this.#data = [];
    return isEmpty ? [] : [message];
  }
}

/** The states, queue positions and progress of a job, over as many streams as needed. */
export async function* follow(transport: Transport, call: Call): AsyncGenerator<JobEvent, void, undefined> {
  const repeats = call.maxRetries ?? transport.maxRetries;
  let last = "";
  let retry = DEFAULT_RETRY;
  let failures = 0;
  let trouble = 0;
  const resetFailures = (): void => {
    failures = 0;
    trouble = transport.now() + WHILE_WAITING;
  };
  // The pause before the next stream, after one that ended early, as streams do when the service restarts, or that failed.
  const pauseOf = (outcome: Outcome | null): number => {
    const facts = { ...call, attempts: failures };
    if (outcome === null) {
      if (repeats > 0 && transport.now() + retry < trouble) return retry;
      throw new ApiConnectionError("the stream of events ended before the job did", facts);
    }
    const span = pauseWhileWaiting(outcome, failures, repeats, Math.random());
    if (span === null || transport.now() + span >= trouble) throw errorOf(outcome, inWords(call), facts);
    return span;
  };
  resetFailures();
  for (;;) {
    let outcome: Outcome | null = null;
    // Not compressed: a compressor may hold an event back until there are more.
    const headers = { accept: "text/event-stream", "accept-encoding": "identity", ...(last === "" ? {} : { "last-event-id": last }) };
    const request = transport.request({ ...call, headers });
    const opened = transport.now();
    const alarm = transport.alarm(call);
    try {
      const response = await transport.open(request, alarm);
      if (response.status === 204) return;
      if (response.ok && !response.headers.get("content-type")?.startsWith("text/event-stream")) {
        throw malformed(`has the content type ${response.headers.get("content-type") ?? "no content type"}`, { ...call, attempts: failures + 1 });
      }
      if (!response.ok) {
        outcome = { kind: "answer", response, body: new Uint8Array(await response.arrayBuffer()) };
      } else {
        const reader = new Reader();
        const stream = response.body?.getReader();
        for (;;) {
          alarm.set(SILENCE);
          const chunk = await stream?.read();
          if (chunk === undefined || chunk.done) break;
          // A job that waits for long has no events, and some proxies end each answer after a minute or two.
          if (transport.now() - opened >= PROVEN) resetFailures();
          for (const message of reader.feed(chunk.value)) {
            last = message.id || last;
            const event = eventOf(message, { ...call, attempts: failures + 1 });
            if (event === null) continue;
            // The caller's own work takes as long as it takes.
            alarm.calm();
            yield event;
            resetFailures();
            if (event.type === "status" && (event.job.status === "done" || event.job.status === "failed")) return;
          }
          retry = reader.retry ?? retry;
        }
      }
    } catch (cause) {
      call.signal?.throwIfAborted();
      if (cause instanceof UnexpectedAnswerError) throw cause;
      outcome = { kind: "fault", cause, isTimeout: isTimeout(cause) };
    } finally {
      alarm.end();
    }
    failures += 1;
    await transport.pause(pauseOf(outcome), call.signal);
  }
}

function eventOf(message: Message, facts: CallFacts): JobEvent | null {
  if (message.name !== "status" && message.name !== "queue" && message.name !== "progress") return null;
  const value = objectOf(message.data);
  if (value === null || !("job_id" in value)) throw malformed("has an event without a job", facts);
  if (message.name === "status") return { type: "status", job: value as unknown as Job };
  if (message.name === "queue") {
    const { job_id, queue_position, estimated_start_at = null } = value;
    return {
      type: "queue",
      job_id: String(job_id),
      queue_position: Number(queue_position),
      estimated_start_at: typeof estimated_start_at === "string" ? estimated_start_at : null,
    };
  }
  return { type: "progress", job_id: String(value["job_id"]), progress: Number(value["progress"]) };
}

function malformed(what: string, facts: CallFacts): UnexpectedAnswerError {
  return new UnexpectedAnswerError(`the stream of events ${what}`, facts);
}
