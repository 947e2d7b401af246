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
  type Parameter = { name: string; in: string; schema: { enum?: string[] } };
  const told = Object.entries<any>(document.paths).flatMap(([path, it]): [string, Parameter[]][] => {
    const query = (it.get?.parameters ?? []).filter((parameter: Parameter) => parameter.in === "query");
    // The clients do not build the URLs of images.
    return query.length === 0 || path.startsWith("/files/") ? [] : [[path.replace("/api/v1", ""), query]];
  });
  const asked = {
    "/batches": members("Window"),
    "/batches/{batch_id}": ["wait"],
    "/jobs": [...members("JobFilter"), ...members("Window")],
    "/jobs/{job_id}": ["wait"],
    "/transactions": [...members("TransactionFilter"), ...members("Window")],
    "/usage": [...members("UsageFilter"), ...members("Window")],
  };
  const sorted = (names: string[]): string[] => [...names].sort();
  assert.deepEqual(
    Object.fromEntries(told.map(([path, query]) => [path, sorted(query.map(({ name }) => name))])),
    Object.fromEntries(Object.entries(asked).map(([path, names]) => [path, sorted(names)])),
  );
  const parameters = new Map(told.flatMap(([, query]) => query).map((it) => [it.name, it.schema.enum]));
  for (const [type, name] of [["Tier", "tier"], ["Mode", "mode"], ["Status", "status"], ["TransactionKind", "kind"]] as const) {
    assert.deepEqual(words(type), parameters.get(name));
  }
  const call = document.paths["/api/v1/nb2/url-generations"].post.requestBody.content["application/json"].schema;
  assert.deepEqual(words("AspectRatio"), call.properties.aspect_ratio.enum);
  assert.deepEqual([...words("Resolution"), null], call.properties.resolution.enum);
});
