// A server that answers as it is told: with an error, with half an answer, with nothing at all.

import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { Tintype } from "../src/index.js";
import type { ClientOptions } from "../src/index.js";

export const JOB_ID = "01a1fa95-0000-7000-8000-000000000001";

export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An answer; `cut` ends the connection after the body, which may be less than was promised, and `open` leaves it open. */
export interface Reply {
  readonly status: number;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cut?: boolean;
  readonly open?: boolean;
}

/** An answer; no answer, and the connection closed or left open; or what is made of the request. */
export type Move = Reply | "cut" | "silence" | ((heard: Heard) => Promise<Reply | "cut">);

export function told(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, body: JSON.stringify(value), headers: { "content-type": "application/json", ...headers } };
}

/** An error as the service tells it. */
export function problem(status: number, code: string, headers: Readonly<Record<string, string>> = {}): Reply {
  const body = { type: "about:blank", title: "Title", status, detail: "why", code, request_id: "r-1" };
  return told(body, status, { "content-type": "application/problem+json", ...headers });
}

export function created(headers: Readonly<Record<string, string>> = {}): Reply {
  return told({ job_id: JOB_ID, status: "queued", status_url: `/api/v1/jobs/${JOB_ID}` }, 202, headers);
}

/** A job as the lookup tells it. */
export function job(status = "done", { url = null, error = null }: { url?: string | null; error?: string | null } = {}): object {
  const moment = "2026-11-20T20:10:58.145Z";
  return {
    job_id: JOB_ID,
    status,
    created_at: moment,
    started_at: status === "queued" ? null : moment,
    finished_at: status === "done" || status === "failed" ? moment : null,
    result: url === null ? null : { image_url: url },
    error,
    queue_position: status === "queued" ? 1 : null,
    estimated_start_at: null,
  };
}

/** The server. It makes one move for each request, and the last one for all that come after. */
export class Peer {
  readonly heard: Heard[] = [];
  readonly #server: Server;
  #moves: Move[] = [];
  #waiting: (() => void)[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        const { method = "", url = "", headers } = request;
        void this.#serve({ method, path: url, headers, body: Buffer.concat(parts).toString() }, response);
      });
    });
  }

  static async start(test: TestContext): Promise<Peer> {
    const peer = new Peer();
    await new Promise<void>((ready) => peer.#server.listen(0, "127.0.0.1", ready));
    test.after(() => peer.stop());
    return peer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  will(...moves: Move[]): void {
    this.#moves = moves;
  }

  /** Resolves once there has been a request. */
  async somethingHeard(): Promise<void> {
    while (this.heard.length === 0) await new Promise<void>((wake) => this.#waiting.push(wake));
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(heard: Heard, response: ServerResponse): Promise<void> {
    this.heard.push(heard);
    for (const wake of this.#waiting.splice(0)) wake();
    const next = this.#moves.length > 1 ? this.#moves.shift() : this.#moves[0];
    const move = typeof next === "function" ? await next(heard) : next;
    if (move === undefined || move === "cut") {
      response.destroy();
      return;
    }
    if (move === "silence") return;
    const body = move.body ?? "";
    response.writeHead(move.status, { connection: "close", "content-length": Buffer.byteLength(body), ...move.headers });
    if (move.open === true) response.write(body);
    else if (move.cut === true) response.write(body, () => response.destroy());
    else response.end(body);
  }
}

/** A client that does not sleep, but notes for how long it would, and whose clock goes on by as much. */
export function calling(url: string, options: ClientOptions = {}): { client: Tintype; pauses: number[] } {
  const client = new Tintype({ apiKey: "tt_k", baseUrl: url, ...options });
  const pauses: number[] = [];
  client.transport.pause = async (span) => void pauses.push(span);
  client.transport.now = () => performance.now() + sum(pauses);
  return { client, pauses };
}

export function sum(spans: readonly number[]): number {
  return spans.reduce((all, span) => all + span, 0);
}
