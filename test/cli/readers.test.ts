/** A reader of a command's output may be slow, full or gone. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { createClient, createServer, type Server, silentLog, stream } from "callwire";
import { serveHttp } from "callwire/http/node";
import { tcpLink } from "callwire/tcp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deferred } from "../transports/contract/wire.ts";
import { build, cli, start, startDemo } from "./process.ts";

const kilobyte = "x".repeat(1000);

let server: Server;
let url: string;

beforeAll(async () => {
  await build();
  server = createServer(
    {
      // As much as a pipe holds, and some more.
      fails: stream({}, function* () {
        for (let n = 0; n < 70; n++) yield kilobyte;
        throw new Error("no more");
      }),
      long: stream({}, async function* (_, { signal }) {
        yield kilobyte.repeat(900);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }),
    },
    { log: silentLog },
  );
  ({ url } = await serveHttp(server, { port: 0 }));
});

afterAll(() => server?.close({ drainMs: 0 }));

describe("a reader that is slow", () => {
  test("gets everything that arrived before a failure", async () => {
    const line = '"$0" "$1" stream "$2" fails | { read begin <&3; cat; }';
    const shell = spawn("sh", ["-c", line, process.execPath, cli, url], {
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    const shown = text(shell.stdout as NodeJS.ReadableStream);
    const told = new Promise<void>((resolve) => shell.stderr?.once("data", () => resolve()));
    await told;
    (shell.stdio[3] as NodeJS.WritableStream).end("\n");
    expect((await shown).split("\n")).toHaveLength(71);
  });

  test("does not keep Ctrl-C from ending a stream", async () => {
    await using reading = start(["stream", url, "long", "--verbose"]);
    reading.child.stdout?.pause();
    await reading.shown(/x\\?"\}\}$/m, "stderr");
    reading.child.kill("SIGINT");
    await reading.shown(/^callwire: long was cancelled after 1 item$/m, "stderr");
    reading.child.stdout?.resume();
    const { code, stdout } = await reading.exited;
    expect({ code, length: stdout.length }).toEqual({ code: 130, length: 900_003 });
  });
});

describe("a server whose banner has lost its reader", () => {
  test("finishes its calls when it is stopped", async () => {
    await using demo = await startDemo(["--tcp", "0"]);
    const [, port] = await demo.shown(/TCP +127\.0\.0\.1:(\d+)/);
    demo.child.stdout?.destroy();
    await using client = createClient(tcpLink(`tcp://127.0.0.1:${port}`));
    const begun = deferred();
    const result = client.call("slow/work", { ms: 500 }, { onProgress: () => begun.resolve() });
    await begun.promise;
    demo.child.kill("SIGINT");
    expect(await result).toBe("worked for 500 ms");
    expect((await demo.exited).code).toBe(0);
  });
});

test("a reader that has left does not hide that a call failed", async () => {
  await using batch = start(["batch", url, "-"]);
  batch.child.stdout?.destroy();
  batch.child.stdin?.end("nope\n");
  expect((await batch.exited).code).toBe(1);
});

test.skipIf(!existsSync("/dev/full"))(
  "a disk that is full is one line (needs /dev/full)",
  async () => {
    const line = '"$0" "$1" call "$2" rpc.discover > /dev/full';
    const shell = spawn("sh", ["-c", line, process.execPath, cli, url]);
    const [said, code] = await Promise.all([
      text(shell.stderr),
      new Promise((resolve) => shell.on("exit", resolve)),
    ]);
    expect(said).toMatch(/^callwire: standard output cannot be written: ENOSPC[^\n]*\n$/);
    expect(code).toBe(2);
  },
);
