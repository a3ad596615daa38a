import { execFile } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Client, createClient, createServer, silentLog } from "callwire";
import type { Connection } from "callwire/connection";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { spawnConnection } from "callwire/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { methods } from "../../examples/demo/methods.ts";
import { build, cli, Process } from "../cli/process.ts";
import { waitMs } from "../limits.ts";
import { describeWith, pathOf } from "../services.ts";

// Python, as Debian packages it.

const run = promisify(execFile);
const fixture = (name: string): string =>
  fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

/** What a program printed, a line of JSON each. */
async function printed(python: string, args: readonly string[]): Promise<unknown> {
  const { stdout } = await run(python, args, { timeout: waitMs });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describeWith(["pylsp-jsonrpc"], "pylsp-jsonrpc", () => {
  test("as a client of the demo over stdio", async () => {
    await build();
    const demo = [process.execPath, cli, "demo", "--stdio", "--framing", "content-length"];
    const python = pathOf("pylsp-jsonrpc");
    expect(await printed(python, [fixture("pylsp_client.py"), ...demo])).toEqual([
      { "math/add": 5 },
      { "math/add": 5 },
      { echo: "größer 漢字 🚀" },
      { nothing: { code: -32601, message: "Method not found" } },
      { trigger_error: { code: -32603, message: "Internal error" } },
      { "ticks/start": "ticking every 10 ms" },
      { "ticks/stop": "stopped" },
      { exit: 0 },
    ]);
  });

  describe("as a server over stdio", () => {
    const events = new EventEmitter();
    let connection: Connection;
    let client: Client;

    beforeAll(async () => {
      connection = await spawnConnection(pathOf("pylsp-jsonrpc"), [fixture("pylsp_server.py")], {
        framing: "content-length",
        // It logs each failure with its trace.
        stderr: "ignore",
        service: createServer({
          hanging: () => void events.emit("hanging"),
          "client/name": ({ polite }: { polite: boolean }) => (polite ? "Mr Client" : "Client"),
        }),
      });
      client = createClient(connection);
    });

    afterAll(() => connection?.close());

    test("answers calls and takes notifications", async () => {
      expect(await client.call("math/add", { a: 2, b: 3 })).toBe(5);
      await client.notify("note", { text: "größer 漢字 🚀" });
      expect(await client.call("noted")).toEqual(["größer 漢字 🚀"]);
    });

    test("answers with errors that keep their code, message and data", async () => {
      await expect(client.call("fail")).rejects.toMatchObject({
        code: 1001,
        message: "Refused",
        data: { reason: "because" },
      });
      await expect(client.call("nothing")).rejects.toMatchObject({ code: -32601 });
    });

    test("calls back while its caller waits", async () => {
      expect(await client.call("ask")).toBe("Mr Client");
    });

    test("continues when a call is cancelled, and its late answer is ignored", async () => {
      const controller = new AbortController();
      const hanging = once(events, "hanging");
      const call = client.call("hang", undefined, { signal: controller.signal });
      await hanging;
      controller.abort();
      await expect(call).rejects.toMatchObject({ code: "ABORTED" });
      await client.call("release");
      expect(await client.call("math/add", { a: 3, b: 4 })).toBe(7);
    });
  });
});

describeWith(["jsonrpclib-pelix"], "jsonrpclib-pelix", () => {
  const server = createServer(methods, { versions: ["1.0", "2.0"], log: silentLog });

  afterAll(() => server.close());

  test("as a client of version 2.0", async () => {
    // It treats any other status as a failure, even that of an answer without a reply.
    const { url } = await serveHttp(server, { port: 0, noReplyStatus: 200 });
    const args = [fixture("pelix_client.py"), url, "2.0"];
    expect(await printed(pathOf("jsonrpclib-pelix"), args)).toEqual([
      { "by position": 5 },
      { "by name": 5 },
      { text: "größer 漢字 🚀" },
      { unknown: { error: -32601 } },
      { notification: null },
      { batch: [3, "hi"] },
    ]);
  });

  test("as a client of version 1.0", async () => {
    const { url } = await serveHttp(server, { port: 0, noReplyStatus: 200 });
    const args = [fixture("pelix_client.py"), url, "1.0"];
    expect(await printed(pathOf("jsonrpclib-pelix"), args)).toEqual([
      { "by position": 5 },
      { text: "größer 漢字 🚀" },
      { unknown: { error: -32601 } },
      { notification: null },
    ]);
  });

  test("as a server", async () => {
    await using peer = new Process(pathOf("jsonrpclib-pelix"), [fixture("pelix_server.py")]);
    const [port] = await peer.shown(/\d+/);
    interface Methods {
      add(a: number, b: number): number;
      echo(message: string): string;
    }
    await using client = createClient<Methods>(httpLink(`http://127.0.0.1:${port}/`));
    expect(await client.api.add(2, 3)).toBe(5);
    expect(await client.call("add", { a: 2, b: 3 })).toBe(5);
    expect(await client.batch((b) => [b.add(1, 2), b.echo("größer 漢字 🚀")])).toEqual([
      3,
      "größer 漢字 🚀",
    ]);
    await expect(client.call<unknown>("fail")).rejects.toMatchObject({
      code: 1001,
      data: { reason: "because" },
    });
    await expect(client.call<unknown>("nothing")).rejects.toMatchObject({ code: -32601 });
    await client.notify("add", [1, 2]);
  });
});
