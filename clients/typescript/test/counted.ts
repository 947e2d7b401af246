// A reporter of `node --test`: every failure in full, and one line for all.

import type { TestEvent } from "node:test/reporters";

export default async function* counted(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let passed = 0;
  let failed = 0;
  for await (const event of events) {
    if (event.type === "test:stderr" || event.type === "test:stdout") yield event.data.message;
    if (event.type !== "test:pass" && event.type !== "test:fail") continue;
    // A file is no test of its own, unless it could not be run.
    const isFile = event.data.name.endsWith(".js");
    if (event.type === "test:pass") {
      passed += isFile ? 0 : 1;
    } else {
      const { error } = event.data.details;
      if (isFile && (error as { failureType?: string }).failureType === "subtestsFailed") continue;
      failed += 1;
      yield `FAILED ${event.data.name}\n${String(error.cause instanceof Error ? error.cause.stack : error.stack)}\n`;
    }
  }
  yield `${passed} passed, ${failed} failed\n`;
}
