import { silentLog } from "callwire";
import { Connection, memoryChannels } from "callwire/connection";
import {
  type LspClientHandlers,
  type LspClientOptions,
  type LspServerHandlers,
  type LspServerOptions,
  lspChannelLink,
  lspClient,
  lspServer,
  lspSocketLink,
} from "callwire/lsp";
import { serveSocket } from "callwire/tcp";
import { describe, expect, test } from "vitest";
import { at } from "./editor.ts";

const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };

function connect(
  handlers: LspServerHandlers,
  own: LspClientHandlers = {},
  options: LspClientOptions = {},
  serverOptions: LspServerOptions = {},
) {
  const [near, far] = memoryChannels();
  new Connection(far, {
    service: lspServer(handlers, { log: silentLog, ...serverOptions }),
    transport,
  });
  return lspClient(lspChannelLink(near), own, { log: silentLog, ...options });
}

describe("a client", () => {
  test("initializes the server and learns what it offers", async () => {
    const client = await connect(
      { "textDocument/hover": () => ({ contents: "Hi" }) },
      {},
      {},
      { info: { name: "tally" } },
    );
    expect(client.server.serverInfo).toEqual({ name: "tally" });
    expect(client.offers("textDocument/hover")).toBe(true);
    expect(client.offers("textDocument/rename")).toBe(false);
    expect(await client.request("textDocument/hover", at(0, 0))).toEqual({ contents: "Hi" });
  });

  test("declares to the server what its handlers support", async () => {
    let told: unknown;
    await connect(
      {
        initialize: ({ capabilities }) => {
          told = capabilities;
        },
      },
      {
        "workspace/configuration": () => [],
        "workspace/applyEdit": () => ({ applied: true }),
        "workspace/codeLens/refresh": () => {},
        "window/showMessageRequest": () => null,
        "textDocument/publishDiagnostics": () => {},
      },
      {
        onProgress: () => {},
        initialize: { capabilities: { textDocument: { hover: { dynamicRegistration: true } } } },
      },
    );
    expect(told).toEqual({
      general: { positionEncodings: ["utf-16"] },
      window: { workDoneProgress: true },
      workspace: { configuration: true, applyEdit: true, codeLens: { refreshSupport: true } },
      textDocument: { publishDiagnostics: {}, hover: { dynamicRegistration: true } },
    });
  });

  test("answers requests of the server", async () => {
    const client = await connect(
      {
        "textDocument/hover": async (_, { client }) => {
          const action = await client.request("window/showMessageRequest", {
            type: 3,
            message: "Which?",
            actions: [{ title: "This" }],
          });
          const none = await client.request("workspace/workspaceFolders").catch(({ code }) => code);
          return { contents: `${action?.title} ${none}` };
        },
      },
      { "window/showMessageRequest": ({ actions = [] }) => actions[0] ?? null },
    );
    const hover = await client.request("textDocument/hover", at(0, 0));
    expect(hover).toEqual({ contents: "This -32601" });
  });

  test("knows what the server registers later", async () => {
    const client = await connect({
      "textDocument/hover": async (_, { client }) => {
        const registered = await client.register("textDocument/formatting", {
          documentSelector: null,
        });
        client.notify("window/logMessage", { type: 4, message: "registered" });
        await client.request("window/workDoneProgress/create", { token: 1 });
        await registered.unregister();
        return null;
      },
    });
    await client.request("textDocument/hover", at(0, 0));
    expect(client.offers("textDocument/formatting")).toBe(false);
  });

  test("knows what a registration includes", async () => {
    const client = await connect({
      "textDocument/hover": async (_, { client }) => {
        const documentSelector = [{ language: "tally" }];
        await client.register("textDocument/completion", {
          documentSelector,
          resolveProvider: true,
        });
        await client.register("textDocument/codeLens", { documentSelector });
        await client.register("textDocument/documentColor", { documentSelector });
        await client.register("textDocument/semanticTokens/full", {
          documentSelector,
          legend: { tokenTypes: [], tokenModifiers: [] },
          full: { delta: false },
          range: true,
        });
        return null;
      },
    });
    await client.request("textDocument/hover", at(0, 0));
    const methods = [
      "completionItem/resolve",
      "codeLens/resolve",
      "textDocument/colorPresentation",
      "textDocument/semanticTokens/full",
      "textDocument/semanticTokens/full/delta",
      "textDocument/semanticTokens/range",
      "textDocument/formatting",
    ] as const;
    expect(methods.filter((method) => client.offers(method))).toEqual([
      "completionItem/resolve",
      "textDocument/colorPresentation",
      "textDocument/semanticTokens/full",
      "textDocument/semanticTokens/range",
    ]);
  });

  test("reads partial results and progress as they arrive", async () => {
    const client = await connect({
      "textDocument/references": async (_, call) => {
        call.progress({ kind: "begin", title: "Searching" });
        call.partial([{ uri: "a", range }]);
        await Promise.resolve();
        call.progress({ kind: "end" });
        return [{ uri: "b", range }];
      },
    });
    const stream = client.stream("textDocument/references", {
      ...at(0, 0),
      context: { includeDeclaration: true },
    });
    const events: unknown[] = [];
    for await (const event of stream) events.push(event);
    expect(events).toEqual([
      { kind: "progress", value: { kind: "begin", title: "Searching" } },
      { kind: "partial", value: [{ uri: "a", range }] },
      { kind: "progress", value: { kind: "end" } },
    ]);
    expect(await stream.result).toEqual([{ uri: "b", range }]);
  });

  test("cancels the request when it leaves the loop", async () => {
    let cancelled = (): void => {};
    const aborted = new Promise<void>((resolve) => {
      cancelled = resolve;
    });
    const client = await connect({
      "textDocument/references": (_, call) =>
        new Promise(() => {
          call.signal.addEventListener("abort", cancelled);
          call.partial([{ uri: "a", range }]);
        }),
    });
    const stream = client.stream("textDocument/references", {
      ...at(0, 0),
      context: { includeDeclaration: false },
    });
    for await (const event of stream) {
      expect(event.kind).toBe("partial");
      break;
    }
    await aborted;
    await expect(stream.result).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("passes a failure to the reader of the events", async () => {
    const client = await connect({});
    const stream = client.stream("textDocument/references", {
      ...at(0, 0),
      context: { includeDeclaration: false },
    });
    const read = async (): Promise<void> => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toMatchObject({ code: -32601 });
  });

  test("gets progress of work that the server began, also if its token is the number of a call", async () => {
    const heard: unknown[] = [];
    const client = await connect(
      {
        "textDocument/hover": async (_, { client, peer }) => {
          for (let token = 1; token < 200; token++) {
            peer.notify("$/progress", { token, value: { kind: "report" } });
          }
          const work = await client.beginProgress({ title: "Indexing" });
          work.end();
          return null;
        },
      },
      {},
      { onProgress: (token) => heard.push(token) },
    );
    await client.request("textDocument/hover", at(0, 0));
    expect(heard.slice(0, 199)).toEqual(Array.from({ length: 199 }, (_, i) => i + 1));
    expect(heard).toHaveLength(201);
  });

  test("shuts the server down when it is closed", async () => {
    let shutdowns = 0;
    const client = await connect({
      shutdown: () => {
        shutdowns++;
      },
    });
    await client.close();
    await client.close();
    await client.closed;
    expect(shutdowns).toBe(1);
    expect(client.notify("initialized", {})).toBe(false);
  });

  test("fails if the server does not initialize, and disconnects", async () => {
    const failing = connect({
      initialize: () => {
        throw new Error("no");
      },
    });
    await expect(failing).rejects.toMatchObject({ code: -32603 });
  });

  test("connects to a server that listens", async () => {
    const server = lspServer({ "textDocument/hover": () => ({ contents: "over TCP" }) });
    const { port } = await serveSocket(server, { port: 0, framing: "content-length" });
    const client = await lspClient(lspSocketLink({ port: port as number }));
    expect(await client.request("textDocument/hover", at(0, 0))).toEqual({ contents: "over TCP" });
    await client.close();
    await server.close();
  });
});
