import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { silentLog } from "callwire";
import { LspErrorCode, lspClient, lspServer, lspSocketLink } from "callwire/lsp";
import { validateParams } from "callwire/lsp/validation";
import { serveSocket } from "callwire/tcp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProtocolConnection } from "vscode-languageserver-protocol/node";
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

  const connectionOver = (socket: Socket): ProtocolConnection =>
    vscode.createProtocolConnection(
      new vscode.StreamMessageReader(socket),
      new vscode.StreamMessageWriter(socket),
    );

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

    test("is told what is wrong with its params", async () => {
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
});
