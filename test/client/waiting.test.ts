import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createServer, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { expect, onTestFinished, test } from "vitest";
import { ownPort } from "../own-port.ts";
import { bundle } from "../transports/bundle.ts";

const program = bundle(new URL("./fixtures/waiting.ts", import.meta.url));
const run = promisify(execFile);

/** A server that shuts down on request. */
async function serve(): Promise<string> {
  const server = createServer(
    {
      add: (a: number, b: number) => a + b,
      leave: () => http.close(),
    },
    { log: silentLog },
  );
  const http = await serveHttp(server, { port: await ownPort(), drainMs: 0 });
  onTestFinished(() => http.close());
  return http.url;
}

test.each([
  ["calls that are gathered", serve, "3"],
  [
    "a call that is tried again",
    async () => `http://127.0.0.1:${await ownPort()}/rpc`,
    "CONNECTION_FAILED",
  ],
  [
    "a link that heals",
    async () => `${(await serve()).replace("http", "ws")}/ws`,
    "CONNECTION_FAILED",
  ],
])("a process does not end while it waits for %s", async (what, url, expected) => {
  const { stdout } = await run(process.execPath, [program, what, await url()]);
  expect(stdout).toBe(`${expected}\n`);
});
