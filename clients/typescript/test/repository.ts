// Where the files are that the packages share with the service's own tests. This file runs from build/test.

import { fileURLToPath } from "node:url";

export function repository(path: string): string {
  return fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
}
