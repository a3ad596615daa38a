import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { bundle } from "../transports/bundle.ts";

test("a server whose handler left a body unread closes, and its process does not end before", async () => {
  const program = bundle(new URL("./fixtures/unread-upload.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program]);
  expect(stdout).toBe("0\nclosed\n");
});
