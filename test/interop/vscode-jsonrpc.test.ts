import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { connect } from "node:net";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Client, createClient, createServer, method, RpcError, silentLog } from "callwire";
import type { Connection } from "callwire/connection";
import { spawnConnection } from "callwire/stdio";
import { serveSocket } from "callwire/tcp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MessageConnection } from "vscode-jsonrpc/node";
import { z } from "zod";
import { build, cli } from "../cli/process.ts";
import { describeWith } from "../services.ts";

// The library under every language server and client of Visual Studio Code.

describeWith(["npm peers"], "vscode-jsonrpc 10", () => {
  let vscode: typeof import("vscode-jsonrpc/node");

  beforeAll(async () => {
    vscode = await import("vscode-jsonrpc/node");
  });

  function listenOn(input: Readable, output: Writable): MessageConnection {
    const { createMessageConnection, StreamMessageReader, StreamMessageWriter } = vscode;
    return createMessageConnection(new StreamMessageReader(input), new StreamMessageWriter(output));
  }

  describe("as a client of our server, over TCP", () => {
    const events = new EventEmitter();
    const noted: unknown[] = [];
    const server = createServer(
      {
        math: {
          add: method(
            { params: z.object({ a: z.number(), b: z.number() }), result: z.number() },
            ({ a, b }) => a + b,
          ),
        },
        fail: method({}, () => {
          throw new RpcError(1001, "Refused", { reason: "because" });
        }),
        crash: method({}, () => {
          throw new Error("a secret");
        }),
        note: (text: string) => {
          noted.push(text);
          events.emit("noted");
        },
        hang: method({}, (_, { signal }) => {
          events.emit("hanging");
          return new Promise((resolve) =>
            signal.addEventListener("abort", () => {
              events.emit("cancelled");
              resolve("too late");
            }),
          );
        }),
        work: method({ params: z.object({ workDoneToken: z.string() }) }, async (_, call) => {
          call.progress({ kind: "begin", title: "Working" });
          await Promise.resolve();
          call.progress({ kind: "end" });
          return "done";
        }),
        ask: method({}, (_, call) => call.peer.call("client/name", { polite: true })),
        askInVain: method({}, async (_, call) => {
          const { signal, abort } = cancelling();
          events.once("client hangs", abort);
          return call.peer.call("client/hang", [], { signal }).catch(({ code }) => code);
        }),
      },
      { log: silentLog },
    );
    let client: MessageConnection;

    beforeAll(async () => {
      const { port } = await serveSocket(server, { port: 0, framing: "content-length" });
      const socket = connect(port as number, "127.0.0.1");
      client = listenOn(socket, socket);
      client.listen();
    });

    afterAll(async () => {
      client?.dispose();
      await server.close();
    });

    test("gets answers to params by name and by position", async () => {
      const { ParameterStructures } = vscode;
      const add = "math/add";
      expect(await client.sendRequest(add, { a: 2, b: 3 })).toBe(5);
      expect(await client.sendRequest(add, ParameterStructures.byPosition, 2, 3)).toBe(5);
    });

    test("gets text of every alphabet, counted in bytes", async () => {
      await client.sendNotification("note", "größer 漢字 🚀");
      if (noted.length === 0) await once(events, "noted");
      expect(noted).toEqual(["größer 漢字 🚀"]);
    });

    test("gets errors with code, message and data, and no secret", async () => {
      await expect(client.sendRequest("fail")).rejects.toMatchObject({
        code: 1001,
        message: "Refused",
        data: { reason: "because" },
      });
      const { ErrorCodes } = vscode;
      await expect(client.sendRequest("crash")).rejects.toMatchObject({
        code: ErrorCodes.InternalError,
        message: "Internal error",
      });
      await expect(client.sendRequest("nothing")).rejects.toMatchObject({
        code: ErrorCodes.MethodNotFound,
      });
      await expect(client.sendRequest("math/add", { a: "2" })).rejects.toMatchObject({
        code: ErrorCodes.InvalidParams,
      });
    });

    test("cancels a call, which is answered with RequestCancelled", async () => {
      const source = new vscode.CancellationTokenSource();
      const hanging = once(events, "hanging");
      const cancelled = once(events, "cancelled");
      const call = client.sendRequest("hang", source.token);
      await hanging;
      source.cancel();
      await expect(call).rejects.toMatchObject({ code: -32800 });
      await cancelled;
    });

    test("gets progress under its own token", async () => {
      const seen: unknown[] = [];
      const token = "a token";
      const listening = client.onProgress(new vscode.ProgressType(), token, (value) => {
        seen.push(value);
      });
      expect(await client.sendRequest("work", { workDoneToken: token })).toBe("done");
      expect(seen).toEqual([{ kind: "begin", title: "Working" }, { kind: "end" }]);
      listening.dispose();
    });

    test("is called by the handler of its own call", async () => {
      client.onRequest("client/name", ({ polite }) => (polite ? "Ms Editor" : "Editor"));
      expect(await client.sendRequest("ask")).toBe("Ms Editor");
    });

    test("notices that a call to it was cancelled", async () => {
      const cancelled = new Promise<void>((resolve) => {
        client.onRequest(
          "client/hang",
          (token) =>
            new Promise((answer) => {
              token.onCancellationRequested(() => {
                answer("too late");
                resolve();
              });
              events.emit("client hangs");
            }),
        );
      });
      expect(await client.sendRequest("askInVain")).toBe("ABORTED");
      await cancelled;
    });
  });

  describe("as a server in a child process, over stdio", () => {
    const events = new EventEmitter();
    const own = createServer({
      hanging: () => void events.emit("hanging"),
      client: {
        name: ({ polite }: { polite: boolean }) => (polite ? "Mr Client" : "Client"),
        hang: method({}, (_, { signal, peer }) => {
          const cancelled = new Promise((resolve) => signal.addEventListener("abort", resolve));
          peer.notify("client/hanging");
          return cancelled;
        }),
      },
    });
    let connection: Connection;
    let client: Client;

    beforeAll(async () => {
      const child = fileURLToPath(new URL("fixtures/vscode-server.mjs", import.meta.url));
      connection = await spawnConnection(process.execPath, [child], {
        framing: "content-length",
        service: own,
      });
      client = createClient(connection);
    });

    afterAll(() => connection?.close());

    test("answers params by name and by position", async () => {
      expect(await client.call("add", { a: 2, b: 3 })).toBe(5);
      expect(await client.call("subtract", [5, 3])).toBe(2);
    });

    test("gets notifications", async () => {
      await client.notify("note", ["größer 漢字 🚀"]);
      expect(await client.call("noted")).toContain("größer 漢字 🚀");
    });

    test("answers with errors that keep their code, message and data", async () => {
      const error = await client.call("fail").catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(RpcError);
      expect(error).toMatchObject({ code: 1001, message: "Refused", data: { reason: "because" } });
      await expect(client.call("nothing")).rejects.toMatchObject({ code: -32601 });
    });

    test("notices that a call was cancelled", async () => {
      const { signal, abort } = cancelling();
      const hanging = once(events, "hanging");
      const call = client.call("hang", undefined, { signal });
      await hanging;
      abort();
      await expect(call).rejects.toMatchObject({ code: "ABORTED" });
      expect(await client.call("noted")).toContain("cancelled");
    });

    test("reports progress under the token of the params", async () => {
      const seen: unknown[] = [];
      const onProgress = (value: unknown) => seen.push(value);
      const params = { workDoneToken: "a token" };
      expect(await client.call("work", params, { onProgress })).toBe("done");
      expect(seen).toEqual([{ kind: "begin", title: "Working" }, { kind: "end" }]);
    });

    test("calls back while its caller waits", async () => {
      expect(await client.call("ask")).toBe("Mr Client");
    });

    test("cancels a call to us, and gets RequestCancelled", async () => {
      expect(await client.call("askInVain")).toBe(-32800);
    });
  });

  test("as the parent of the demo, over stdio", async () => {
    await build();
    const child = spawn(process.execPath, [cli, "demo", "--stdio", "--framing", "content-length"], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    const client = listenOn(child.stdout, child.stdin);
    client.listen();
    expect(await client.sendRequest("math/add", { a: 2, b: 3 })).toBe(5);
    const seen: unknown[] = [];
    client.onProgress(new vscode.ProgressType(), "slow", (value) => {
      seen.push(value);
    });
    await client.sendRequest("slow/work", { ms: 10, workDoneToken: "slow" });
    expect(seen).toHaveLength(10);
    client.dispose();
    child.stdin.end();
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
  });
});

function cancelling(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
