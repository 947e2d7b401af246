// The real program as an operator sees it, which tests/clients/service.py of the repository starts.

import { Tintype } from "../src/index.js";
import type { ClientOptions } from "../src/index.js";
import type { Heard, Peer, Reply } from "./peer.js";

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error("run this by `tests/clients/service.py npm test`, which starts the service");
  return value;
}

export const service = {
  url: variable("TINTYPE_URL"),
  /** The backend of all tiers. */
  backEnd: variable("TINTYPE_TEST_PEER"),

  async admin(method: string, path: string, body?: object): Promise<any> {
    const headers = { authorization: `Bearer ${variable("TINTYPE_ADMIN_TOKEN")}`, "content-type": "application/json" };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${this.url}/admin/v1${path}`, { method, headers, ...sent });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  },

  /** A fresh account with a key. */
  async account(balance = "10.00", key: object = {}): Promise<{ accountId: string; apiKey: string }> {
    const { account_id: accountId } = await this.admin("POST", "/accounts", { name: "client", balance });
    const { api_key: apiKey } = await this.admin("POST", `/accounts/${accountId}/keys`, { name: "client", ...key });
    return { accountId, apiKey };
  },

  /** A client of a fresh account. */
  async client(options: ClientOptions & { balance?: string; key?: object } = {}): Promise<Tintype> {
    const { balance, key, ...rest } = options;
    return new Tintype({ apiKey: (await this.account(balance, key)).apiKey, baseUrl: this.url, ...rest });
  },

  /** No image is finished meanwhile. */
  async held(meanwhile: () => Promise<void>): Promise<void> {
    const gate = (held: boolean): Promise<Response> =>
      fetch(`${this.backEnd}/gate`, { method: "PUT", body: JSON.stringify({ held }) });
    await gate(true);
    try {
      await meanwhile();
    } finally {
      await gate(false);
    }
  },

  /** The tier takes no jobs meanwhile. */
  async paused(tier: string, meanwhile: () => Promise<void>): Promise<void> {
    const tiers = { fast: false, quality: false, pro: false };
    await this.admin("PUT", "/pause", { project: false, tiers: { ...tiers, [tier]: true } });
    try {
      await meanwhile();
    } finally {
      await this.admin("PUT", "/pause", { project: false, tiers });
    }
  },

  /** Has the peer pass everything on to the program, and lose the first so many answers. */
  losing(peer: Peer, answers: number): string {
    let lost = 0;
    peer.will(async ({ method, path, headers, body }: Heard): Promise<Reply | "cut"> => {
      const passed = ["authorization", "content-type", "idempotency-key"].flatMap((name): [string, string][] => {
        const value = headers[name];
        return typeof value === "string" ? [[name, value]] : [];
      });
      const sent = body === "" ? {} : { body };
      const answer = await fetch(`${this.url}${path}`, { method, headers: passed, ...sent });
      const text = await answer.text();
      lost += 1;
      if (lost <= answers) return "cut";
      const told = ["content-type", "idempotent-replayed", "retry-after"].flatMap((name): [string, string][] => {
        const value = answer.headers.get(name);
        return value === null ? [] : [[name, value]];
      });
      return { status: answer.status, body: text, headers: Object.fromEntries(told) };
    });
    return peer.url;
  },
};
