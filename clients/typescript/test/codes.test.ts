// The codes, against the service's own table.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ERROR_CODES } from "../src/index.js";
import { repository } from "./repository.js";

test("every code of the service is known with its status, and no other is", () => {
  const table = readFileSync(repository("src/web/problem/snapshots/tintype__web__problem__tests__the_table_of_codes.snap"), "utf8");
  const rows = (table.split("---\n")[2] ?? "").split("\n").filter((line) => line !== "");
  const told = rows.map((line): [string, number] => [line.split(" ")[1] ?? "", Number(line.split(" ")[0])]);
  assert.ok(told.length > 20);
  assert.deepEqual(ERROR_CODES, Object.fromEntries(told));
});
