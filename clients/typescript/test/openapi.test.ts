// The types of this package, against the document that the real program serves of itself.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { repository } from "./repository.js";
import { service } from "./service.js";

const SOURCE = readFileSync(repository("clients/typescript/src/types.ts"), "utf8");

/** The names of an interface's members, and of those that it extends. */
function members(name: string): string[] {
  const found = new RegExp(`export interface ${name}(?:<T>)?(?: extends (\\w+))? \\{\\n(.*?)\\n\\}`, "s").exec(SOURCE);
  assert.ok(found !== null, name);
  const own = [...(found[2] ?? "").matchAll(/^ {2}readonly (\w+)\??:/gm)].map((it) => it[1] ?? "");
  return [...(found[1] === undefined ? [] : members(found[1])), ...own];
}

/** The words of a union. */
function words(name: string): string[] {
  const [, text = ""] = new RegExp(`export type ${name} =(.*?);`, "s").exec(SOURCE) ?? [];
  return [...text.matchAll(/"([^"]+)"/g)].map((it) => it[1] ?? "");
}

test("every field of an answer has its place, and every word", async () => {
  const document: any = await (await fetch(`${service.url}/api/v1/openapi.json`)).json();
  const { schemas } = document.components;
  const same = ["Balance", "CreatedJob", "Estimate", "Job", "Key", "ListedJob", "Model", "Transaction", "Usage"];
  for (const [schema, name] of [...same.map((it) => [it, it]), ["Batch", "Batch"], ["BatchCounts", "BatchCounts"], ["BatchEstimate", "BatchEstimate"], ["JobResult", "Result"], ["ListedJobPage", "Page"]] as [string, string][]) {
    // What a created job tells beside the body of its answer is of its headers.
    const told = members(name).filter((it) => it !== "idempotencyKey" && it !== "replayed");
    assert.deepEqual(told.sort(), Object.keys(schemas[schema].properties).sort(), schema);
  }
  const parameters: { name: string; schema: { enum?: string[] } }[] = document.paths["/api/v1/jobs"].get.parameters;
  assert.deepEqual([...members("JobFilter"), ...members("Window")].sort(), parameters.map(({ name }) => name).sort());
  const ofUsage: { name: string }[] = document.paths["/api/v1/usage"].get.parameters;
  assert.deepEqual([...members("UsageFilter"), ...members("Window")].sort(), ofUsage.map(({ name }) => name).sort());
  for (const [type, name] of [["Tier", "tier"], ["Mode", "mode"], ["Status", "status"]] as const) {
    assert.deepEqual(words(type), parameters.find((it) => it.name === name)?.schema.enum);
  }
  const call = document.paths["/api/v1/nb2/url-generations"].post.requestBody.content["application/json"].schema;
  assert.deepEqual(words("AspectRatio"), call.properties.aspect_ratio.enum);
  assert.deepEqual([...words("Resolution"), null], call.properties.resolution.enum);
});
