import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { silentLog } from "callwire";
import { LspErrorCode, lspClient, lspServer, lspSocketLink } from "callwire/lsp";
import { validateParams } from "callwire/lsp/validation";
import { serveSocket } from "callwire/tcp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProtocolConnection } from "vscode-languageserver-protocol/node";
import { clientParams, serverParams } from "../../src/lsp/model/shapes.ts";
import type { Shape } from "../../src/lsp/shape.ts";
import { randomFrom, sample } from "../lsp/samples.ts";
import { describeWith } from "../services.ts";

const uri = "file:///a.txt";
const textDocument = { uri };
const position = { line: 0, character: 1 };
const range = { start: position, end: position };

describeWith(["npm peers"], "vscode-languageserver-protocol 3.18", () => {
  let vscode: typeof import("vscode-languageserver-protocol/node");

  beforeAll(async () => {
    vscode = await import("vscode-languageserver-protocol/node");
  });

  const connectionOver = (socket: Socket): ProtocolConnection => {
    // The package writes header and content separately, which TCP would delay.
    socket.setNoDelay(true);
    return vscode.createProtocolConnection(
      new vscode.StreamMessageReader(socket),
      new vscode.StreamMessageWriter(socket),
    );
  };

  // One connection, from before it initializes until it shuts down.
  describe("as a client of our server", { shuffle: false }, () => {
    const server = lspServer(
      {
        "textDocument/hover": ({ position: { line, character } }, { documents }) => ({
          contents: `${documents.get(uri)?.text} at ${line}:${character}`,
        }),
        "textDocument/references": async (_, call) => {
          call.progress({ kind: "begin", title: "Searching" });
          call.partial([{ uri: "file:///one", range }]);
          await Promise.resolve();
          call.progress({ kind: "end" });
          return [];
        },
        "textDocument/definition": (_, { signal }) =>
          new Promise((resolve) => signal.addEventListener("abort", () => resolve(null))),
        "textDocument/rename": async (_, { client }) => {
          const [settings] = await client.request("workspace/configuration", {
            items: [{ section: "tally" }],
          });
          const registered = await client.register("textDocument/formatting", {
            documentSelector: [{ language: "tally" }],
          });
          await registered.unregister();
          return { changes: { [String(settings)]: [] } };
        },
      },
      { log: silentLog, use: [validateParams("server")] },
    );
    let client: ProtocolConnection;

    beforeAll(async () => {
      const { port } = await serveSocket(server, { port: 0, framing: "content-length" });
      client = connectionOver(connect(port as number, "127.0.0.1"));
      client.listen();
    });

    afterAll(async () => {
      client.dispose();
      await server.close();
    });

    test("is refused before it initializes", async () => {
      const hover = client.sendRequest(vscode.HoverRequest.type, { textDocument, position });
      await expect(hover).rejects.toMatchObject({ code: LspErrorCode.ServerNotInitialized });
    });

    test("initializes, and opens and changes a document", async () => {
      const { capabilities } = await client.sendRequest(vscode.InitializeRequest.type, {
        processId: null,
        rootUri: null,
        capabilities: { workspace: { configuration: true } },
      });
      expect(capabilities).toMatchObject({ hoverProvider: true, textDocumentSync: { change: 2 } });
      await client.sendNotification(vscode.InitializedNotification.type, {});
      await client.sendNotification(vscode.DidOpenTextDocumentNotification.type, {
        textDocument: { uri, languageId: "plain", version: 1, text: "hello" },
      });
      await client.sendNotification(vscode.DidChangeTextDocumentNotification.type, {
        textDocument: { uri, version: 2 },
        contentChanges: [{ range, text: "🚀" }],
      });
      const hover = await client.sendRequest(vscode.HoverRequest.type, { textDocument, position });
      expect(hover).toEqual({ contents: "h🚀ello at 0:1" });
    });

    test("gets progress and partial results", async () => {
      const heard: unknown[] = [];
      client.onProgress(vscode.WorkDoneProgress.type, "work", (value) => void heard.push(value));
      client.onProgress(vscode.ReferencesRequest.type, "parts", (value) => void heard.push(value));
      const params = { textDocument, position, context: { includeDeclaration: true } };
      const tokens = { workDoneToken: "work", partialResultToken: "parts" };
      expect(
        await client.sendRequest(vscode.ReferencesRequest.type, { ...params, ...tokens }),
      ).toEqual([]);
      expect(heard).toEqual([
        { kind: "begin", title: "Searching" },
        [{ uri: "file:///one", range }],
        { kind: "end" },
      ]);
    });

    test("cancels", async () => {
      const source = new vscode.CancellationTokenSource();
      const params = { textDocument, position };
      const found = client.sendRequest(vscode.DefinitionRequest.type, params, source.token);
      source.cancel();
      await expect(found).rejects.toMatchObject({ code: LspErrorCode.RequestCancelled });
    });

    test("is asked for settings, and takes registrations", async () => {
      const registered: string[] = [];
      client.onRequest(vscode.ConfigurationRequest.type, () => ["file:///settings"]);
      client.onRequest(vscode.RegistrationRequest.type, ({ registrations }) => {
        registered.push(...registrations.map(({ id, method }) => `+${id} ${method}`));
      });
      client.onRequest(vscode.UnregistrationRequest.type, ({ unregisterations }) => {
        registered.push(...unregisterations.map(({ id, method }) => `-${id} ${method}`));
      });
      const params = { textDocument, position, newName: "x" };
      expect(await client.sendRequest(vscode.RenameRequest.type, params)).toEqual({
        changes: { "file:///settings": [] },
      });
      expect(registered).toEqual([
        "+callwire-1 textDocument/formatting",
        "-callwire-1 textDocument/formatting",
      ]);
    });

    test("gets an error that names the fault in its params", async () => {
      const wrong = client.sendRequest("textDocument/hover", {
        textDocument,
        position: { line: -1 },
      });
      await expect(wrong).rejects.toMatchObject({
        code: -32602,
        data: { path: "/position/line", expected: "uinteger" },
      });
    });

    test("shuts down", async () => {
      expect(await client.sendRequest(vscode.ShutdownRequest.type)).toBeNull();
      const hover = client.sendRequest(vscode.HoverRequest.type, { textDocument, position });
      await expect(hover).rejects.toMatchObject({ code: -32600 });
      const closed = new Promise<void>((resolve) => client.onClose(resolve));
      await client.sendNotification(vscode.ExitNotification.type);
      await closed;
    });
  });

  test("as a server of our client", async () => {
    const log: string[] = [];
    const listener = createServer((socket) => {
      const server = connectionOver(socket);
      server.onRequest(vscode.InitializeRequest.type, ({ capabilities }) => {
        log.push(`configuration: ${capabilities.workspace?.configuration}`);
        return { capabilities: { hoverProvider: true, textDocumentSync: 1 } };
      });
      server.onNotification(
        vscode.InitializedNotification.type,
        () => void log.push("initialized"),
      );
      server.onNotification(vscode.DidOpenTextDocumentNotification.type, (opened) => {
        void server.sendNotification(vscode.PublishDiagnosticsNotification.type, {
          uri: opened.textDocument.uri,
          diagnostics: [{ range, message: "wrong" }],
        });
      });
      server.onRequest(vscode.ReferencesRequest.type, async (params) => {
        const { workDoneToken = "", partialResultToken = "" } = params;
        const part = [{ uri: "file:///one", range }];
        await server.sendProgress(vscode.WorkDoneProgress.type, workDoneToken, { kind: "end" });
        await server.sendProgress(vscode.ReferencesRequest.type, partialResultToken, part);
        const [settings] = await server.sendRequest(vscode.ConfigurationRequest.type, {
          items: [{}],
        });
        return [{ uri: String(settings), range }];
      });
      server.onRequest(vscode.ShutdownRequest.type, () => void log.push("shutdown"));
      server.onNotification(vscode.ExitNotification.type, () => {
        log.push("exit");
        socket.end();
      });
      server.listen();
    });
    await once(listener.listen(0, "127.0.0.1"), "listening");
    const { port } = listener.address() as { port: number };
    let diagnosed = (_: unknown): void => {};
    const diagnostics = new Promise((resolve) => {
      diagnosed = resolve;
    });
    const client = await lspClient(
      lspSocketLink({ port }),
      {
        "workspace/configuration": () => ["file:///settings"],
        "textDocument/publishDiagnostics": (published) => diagnosed(published),
      },
      { use: [validateParams("client")] },
    );
    client.notify("textDocument/didOpen", {
      textDocument: { uri, languageId: "plain", version: 1, text: "" },
    });
    expect(await diagnostics).toEqual({ uri, diagnostics: [{ range, message: "wrong" }] });
    const params = { textDocument, position, context: { includeDeclaration: false } };
    const stream = client.stream("textDocument/references", params);
    const events: unknown[] = [];
    for await (const event of stream) events.push(event);
    expect(events).toEqual([
      { kind: "progress", value: { kind: "end" } },
      { kind: "partial", value: [{ uri: "file:///one", range }] },
    ]);
    expect(await stream.result).toEqual([{ uri: "file:///settings", range }]);
    await client.close();
    listener.close();
    await once(listener, "close");
    expect(log).toEqual(["configuration: true", "initialized", "shutdown", "exit"]);
  });

  describe("every message", () => {
    /** What the other side received, in the order in which it was sent. */
    const received: [method: string, params: unknown][] = [];
    const random = randomFrom(3);
    /** The library handles these, and the tests above have them. */
    const lifecycle = ["initialize", "initialized", "shutdown", "exit", "$/progress"];
    const samplesOf = (shapesOf: Readonly<Record<string, Shape>>) =>
      Object.entries(shapesOf)
        .filter(([method]) => !lifecycle.includes(method) && method !== "$/cancelRequest")
        .map(([method, shape]): [string, unknown] => [
          method,
          // The model allows any value, but JSON-RPC has arrays and objects only.
          method === "telemetry/event" ? { a: 1 } : sample(shape, random),
        ]);
    const toServer = samplesOf(serverParams);
    const toClient = samplesOf(clientParams);

    /** Handlers that only record what they get. */
    const notes = (messages: readonly [string, unknown][]) =>
      Object.fromEntries(
        messages.map(([method]) => [
          method,
          (params: unknown) => {
            received.push([method, params]);
            return null;
          },
        ]),
      );
    const note = (connection: ProtocolConnection): void => {
      for (const [method, handler] of Object.entries(notes([...toServer, ...toClient]))) {
        // The last argument is a cancellation token.
        const onRequest = (...args: unknown[]) => handler(args.at(-2));
        if (isRequest(method)) connection.onRequest(method, onRequest);
        else connection.onNotification(method, (params) => void handler(params));
      }
    };
    /** The types of the package say which messages are requests, and how their params are written. */
    const typeOf = (method: string) =>
      Object.values(vscode as unknown as Record<string, { type?: { method?: string } }>).find(
        (each) => each?.type?.method === method,
      )?.type;
    const isRequest = (method: string): boolean =>
      (typeOf(method)?.constructor.name ?? "").startsWith("ProtocolRequestType");
    const sendAll = async (
      connection: {
        sendRequest(type: never, ...params: unknown[]): Promise<unknown>;
        sendNotification(type: never, ...params: unknown[]): Promise<void>;
      },
      messages: readonly [string, unknown][],
    ): Promise<void> => {
      for (const [method, params] of messages) {
        const args = params === undefined ? [] : [params];
        const type = (typeOf(method) ?? method) as never;
        if (isRequest(method)) await connection.sendRequest(type, ...args);
        else await connection.sendNotification(type, ...args);
      }
    };
    const callAll = async (
      calls: {
        request(method: never, params: never): Promise<unknown>;
        notify(method: never, params: never): boolean;
      },
      messages: readonly [string, unknown][],
    ): Promise<void> => {
      for (const [method, params] of messages) {
        if (isRequest(method)) await calls.request(method as never, params as never);
        else calls.notify(method as never, params as never);
      }
    };
    /** Without what the library handles itself. */
    const handled = ["registerCapability", "unregisterCapability", "workDoneProgress/create"];
    const isForHandlers = ([method]: readonly [string, unknown]): boolean =>
      !handled.some((part) => method.includes(part));

    test("passes between their client and our server", async () => {
      received.length = 0;
      const server = lspServer(
        { ...notes(toServer), initialize: () => {} },
        {
          log: silentLog,
          use: [validateParams("server")],
          methods: {
            "test/all": (_, { client }) => callAll(client, toClient),
            "test/last": () => null,
          },
        },
      );
      const { port } = await serveSocket(server, { port: 0, framing: "content-length" });
      const client = connectionOver(connect(port as number, "127.0.0.1"));
      note(client);
      client.listen();
      await client.sendRequest(vscode.InitializeRequest.type, {
        processId: null,
        rootUri: null,
        capabilities: { textDocument: { diagnostic: {} } },
      });
      await sendAll(client, toServer);
      await client.sendRequest("test/last");
      expect(received).toEqual(toServer.filter(isForHandlers));
      received.length = 0;
      await client.sendRequest("test/all");
      expect(received).toEqual(toClient);
      client.dispose();
      await server.close();
    });

    test("passes between our client and their server", async () => {
      let theirs: ProtocolConnection | undefined;
      const listener = createServer((socket) => {
        theirs = connectionOver(socket);
        note(theirs);
        theirs.onRequest(vscode.InitializeRequest.type, () => ({ capabilities: {} }));
        theirs.onRequest(vscode.ShutdownRequest.type, () => {});
        theirs.listen();
      });
      await once(listener.listen(0, "127.0.0.1"), "listening");
      const { port } = listener.address() as { port: number };
      const client = await lspClient(lspSocketLink({ port }), notes(toClient), {
        use: [validateParams("client")],
        log: silentLog,
      });
      // An answer to a request shows that everything sent before it has arrived.
      await client.request("workspace/symbol", { query: "" });
      received.length = 0;
      await callAll(client, toServer);
      await client.request("workspace/symbol", { query: "" });
      expect(received.slice(0, -1)).toEqual(toServer);
      received.length = 0;
      await sendAll(theirs as ProtocolConnection, toClient);
      await (theirs as ProtocolConnection).sendRequest("test/last").catch(() => {});
      expect(received).toEqual(toClient.filter(isForHandlers));
      await client.close();
      listener.close();
    });
  });
});
