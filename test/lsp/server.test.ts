import { RpcError } from "callwire";
import { LspErrorCode, lspServer } from "callwire/lsp";
import { describe, expect, test } from "vitest";
import { at, RawEditor } from "./editor.ts";

const hover = "textDocument/hover";

describe("the lifecycle", () => {
  const handlers = { [hover]: () => ({ contents: "Hello" }) } as const;

  test("requests before initialize fail with -32002, and notifications are dropped", async () => {
    const editor = new RawEditor(handlers);
    editor.open("text");
    expect(await editor.request(hover, at(0, 0))).toMatchObject({
      error: { code: LspErrorCode.ServerNotInitialized },
    });
    expect(editor.received).toEqual([]);
  });

  test("requests while initialize runs fail with -32002", async () => {
    let finish = (): void => {};
    const editor = new RawEditor({
      ...handlers,
      initialize: () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    });
    const initialized = editor.request("initialize", {
      processId: null,
      rootUri: null,
      capabilities: {},
    });
    expect((await editor.request(hover, at(0, 0))).error?.code).toBe(-32002);
    finish();
    expect((await initialized).result).toBeDefined();
    expect((await editor.request(hover, at(0, 0))).result).toEqual({ contents: "Hello" });
  });

  test("a failed initialize may be repeated, a successful one may not", async () => {
    let attempts = 0;
    const editor = new RawEditor({
      initialize: () => {
        if (++attempts === 1) throw new RpcError(LspErrorCode.RequestFailed, "Not yet");
      },
    });
    expect((await editor.initialize()).error).toMatchObject({ code: -32803, message: "Not yet" });
    expect((await editor.initialize()).result).toBeDefined();
    expect((await editor.initialize()).error?.code).toBe(-32600);
    expect(attempts).toBe(2);
  });

  test.each([[undefined], [null], [[]], [{ capabilities: "all" }]])(
    "initialize with %j fails with -32602 and may be repeated",
    async (params) => {
      const editor = new RawEditor(handlers);
      expect((await editor.request("initialize", params)).error?.code).toBe(-32602);
      expect((await editor.initialize()).result).toBeDefined();
    },
  );

  test("a client without capabilities has none", async () => {
    const editor = new RawEditor({
      "textDocument/diagnostic": () => ({ kind: "full", items: [] }),
      initialize: ({ capabilities }) => ({ serverInfo: { name: JSON.stringify(capabilities) } }),
    });
    const { result } = await editor.request("initialize", { processId: null, rootUri: null });
    expect(result).toMatchObject({ serverInfo: { name: "{}" } });
    editor.open("text");
    expect((await editor.nextOf("textDocument/publishDiagnostics")).params).toMatchObject({
      diagnostics: [],
    });
  });

  test.each([
    [LspErrorCode.ContentModified, undefined],
    [LspErrorCode.ServerCancelled, { retriggerRequest: true }],
    [LspErrorCode.RequestFailed, undefined],
  ])("a handler fails with %i and its data", async (code, data) => {
    const editor = new RawEditor({
      [hover]: () => {
        throw new RpcError(code, "No", data);
      },
    });
    await editor.initialize();
    const { error } = await editor.request(hover, at(0, 0));
    expect(error).toEqual({ code, message: "No", ...(data !== undefined && { data }) });
  });

  test("requests after shutdown fail with -32600, and exit closes the connection", async () => {
    let released = 0;
    const editor = new RawEditor({
      ...handlers,
      shutdown: () => {
        released++;
      },
    });
    await editor.initialize();
    expect(await editor.request("shutdown")).toMatchObject({ result: null });
    expect(released).toBe(1);
    expect((await editor.request(hover, at(0, 0))).error?.code).toBe(-32600);
    editor.notify("exit");
    await editor.closed();
  });

  test("null params count as no params", async () => {
    const editor = new RawEditor(handlers);
    await editor.initialize();
    expect(await editor.request("shutdown", null)).toMatchObject({ result: null });
  });

  test("an unknown request fails with -32601, an unknown notification is ignored", async () => {
    const editor = new RawEditor({});
    await editor.initialize();
    editor.notify("$/something", {});
    editor.notify("something", {});
    expect((await editor.request("$/something", {})).error?.code).toBe(-32601);
    expect((await editor.request(hover, at(0, 0))).error?.code).toBe(-32601);
    expect(editor.received).toEqual([]);
  });

  test("messages may nest 256 levels, and no more", async () => {
    const editor = new RawEditor({}, { methods: { own: () => "read" } });
    await editor.initialize();
    const nested = (levels: number): object =>
      JSON.parse(`{"a":${"[".repeat(levels - 2)}${"]".repeat(levels - 2)}}`);
    expect(await editor.request("own", nested(256))).toMatchObject({ result: "read" });
    expect((await editor.request("own", nested(257))).error?.code).toBe(-32600);
  });

  test("batches are refused", async () => {
    const editor = new RawEditor({});
    await editor.initialize();
    editor.send([] as never);
    const batch = [{ jsonrpc: "2.0", id: 90, method: hover, params: at(0, 0) }];
    editor.send(batch as never);
    expect((await editor.next(({ error }) => error !== undefined)).error?.code).toBe(-32600);
  });

  test("a cancelled request fails with -32800", async () => {
    const started: (() => void)[] = [];
    const editor = new RawEditor({
      [hover]: (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve(null));
          for (const run of started) run();
        }),
    });
    await editor.initialize();
    const running = new Promise<void>((resolve) => started.push(resolve));
    editor.send({ id: 77, method: hover, params: at(0, 0) });
    await running;
    editor.notify("$/cancelRequest", { id: 77 });
    expect((await editor.next(({ id }) => id === 77)).error?.code).toBe(-32800);
  });

  test("traces are sent as the client wants them", async () => {
    const editor = new RawEditor({
      [hover]: (_, { client }) => {
        client.logTrace("hovered", "in detail");
        return null;
      },
    });
    await editor.initialize({ trace: "messages" });
    await editor.request(hover, at(0, 0));
    expect((await editor.nextOf("$/logTrace")).params).toEqual({ message: "hovered" });
    editor.notify("$/setTrace", { value: "verbose" });
    await editor.request(hover, at(0, 0));
    expect((await editor.nextOf("$/logTrace")).params).toEqual({
      message: "hovered",
      verbose: "in detail",
    });
    editor.notify("$/setTrace", { value: "off" });
    await editor.request(hover, at(0, 0));
    expect(editor.received).toEqual([]);
  });

  test("methods outside of the protocol have handlers too", async () => {
    const editor = new RawEditor({}, { methods: { "tally/sum": (params) => params } });
    await editor.initialize();
    expect((await editor.request("tally/sum", [1, 2])).result).toEqual([1, 2]);
  });
});

describe("capabilities", () => {
  test("are derived from the handlers and joined with the option", () => {
    const { capabilities } = lspServer(
      {
        "textDocument/hover": () => null,
        "textDocument/completion": () => [],
        "completionItem/resolve": (item) => item,
        "textDocument/rename": () => null,
        "textDocument/prepareRename": () => null,
        "textDocument/diagnostic": () => ({ kind: "full", items: [] }),
        "workspace/diagnostic": () => ({ items: [] }),
        "textDocument/didSave": () => {},
        "workspace/didChangeWorkspaceFolders": () => {},
        "textDocument/semanticTokens/full": () => null,
        "textDocument/semanticTokens/full/delta": () => null,
      },
      {
        capabilities: {
          completionProvider: { triggerCharacters: ["."] },
          semanticTokensProvider: { legend: { tokenTypes: [], tokenModifiers: [] } },
        },
      },
    );
    expect(capabilities).toEqual({
      textDocumentSync: { openClose: true, change: 2, save: true },
      hoverProvider: true,
      completionProvider: { resolveProvider: true, triggerCharacters: ["."] },
      renameProvider: { prepareProvider: true },
      diagnosticProvider: { interFileDependencies: false, workspaceDiagnostics: true },
      workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
      semanticTokensProvider: {
        full: { delta: true },
        legend: { tokenTypes: [], tokenModifiers: [] },
      },
    });
  });

  test("of notebooks are derived too", () => {
    const handlers = {
      "notebookDocument/didOpen": () => {},
      "notebookDocument/didSave": () => {},
    } as const;
    expect(() => lspServer(handlers)).toThrow("capabilities.notebookDocumentSync.notebookSelector");
    const notebookSelector = [{ notebook: "tally" }];
    const own = { capabilities: { notebookDocumentSync: { notebookSelector } } };
    expect(lspServer(handlers, own).capabilities.notebookDocumentSync).toEqual({
      notebookSelector,
      save: true,
    });
  });

  test("that are incomplete are refused when the server is created", () => {
    const handlers = { "workspace/executeCommand": () => null } as const;
    expect(() => lspServer(handlers)).toThrow(
      '"workspace/executeCommand" needs the option capabilities.executeCommandProvider.commands',
    );
    lspServer(handlers, { capabilities: { executeCommandProvider: { commands: ["run"] } } });
  });

  test("of the handler of initialize are added", async () => {
    const editor = new RawEditor(
      {
        "textDocument/hover": () => null,
        initialize: ({ capabilities }) => ({
          capabilities: { hoverProvider: capabilities.textDocument?.hover !== undefined },
        }),
      },
      { info: { name: "tally", version: "1" } },
    );
    expect((await editor.initialize()).result).toEqual({
      capabilities: {
        positionEncoding: "utf-16",
        hoverProvider: false,
        textDocumentSync: { openClose: true, change: 2 },
      },
      serverInfo: { name: "tally", version: "1" },
    });
  });
});

describe("documents", () => {
  const handlers = {
    [hover]: (
      { textDocument }: { textDocument: { uri: string } },
      call: {
        documents: Iterable<unknown> & {
          get(uri: string): { text: string; version: number } | undefined;
        };
      },
    ) => {
      const document = call.documents.get(textDocument.uri);
      return document === undefined ? null : { contents: `${document.version}: ${document.text}` };
    },
  } as const;

  test("follow what the client opens, changes and closes", async () => {
    const editor = new RawEditor(handlers);
    await editor.initialize();
    editor.open("héllo");
    editor.change(2, [0, 1], "H");
    editor.notify("textDocument/didChange", {
      textDocument: { uri: "file:///none", version: 2 },
      contentChanges: [{ text: "of a document that is not open" }],
    });
    expect((await editor.request(hover, at(0, 0))).result).toEqual({ contents: "2: Héllo" });
    editor.notify("textDocument/didChange", {
      textDocument: { uri: "file:///a", version: 3 },
      contentChanges: [{ text: "whole\ntext" }],
    });
    expect((await editor.request(hover, at(0, 0))).result).toEqual({ contents: "3: whole\ntext" });
    editor.notify("textDocument/didClose", { textDocument: { uri: "file:///a" } });
    expect((await editor.request(hover, at(0, 0))).result).toBeNull();
  });

  test.each([
    ["utf-8", 4],
    ["utf-16", 2],
    ["utf-32", 1],
  ] as const)("are changed by positions in %s if that is agreed", async (encoding, width) => {
    const editor = new RawEditor(handlers, { positionEncodings: [encoding] });
    const reply = await editor.initialize({
      capabilities: { general: { positionEncodings: ["utf-16", encoding] } },
    });
    expect(reply.result).toMatchObject({ capabilities: { positionEncoding: encoding } });
    editor.open("🚀 up");
    editor.change(2, [width, width + 1], "-");
    expect((await editor.request(hover, at(0, 0))).result).toEqual({ contents: "2: 🚀-up" });
  });

  test("are counted in UTF-16 for a client that knows nothing else", async () => {
    const editor = new RawEditor(handlers, { positionEncodings: ["utf-8"] });
    expect((await editor.initialize()).result).toMatchObject({
      capabilities: { positionEncoding: "utf-16" },
    });
  });

  test("of a handler that waits stay as they were", async () => {
    let goOn = (): void => {};
    const waiting = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const editor = new RawEditor({
      [hover]: async ({ textDocument }, { documents }) => {
        const document = documents.get(textDocument.uri);
        await waiting;
        return { contents: `${document?.text} became ${documents.get(textDocument.uri)?.text}` };
      },
      "textDocument/didChange": () => goOn(),
    });
    await editor.initialize();
    editor.open("old");
    const reply = editor.request(hover, at(0, 0));
    editor.change(2, [0, 3], "new");
    expect((await reply).result).toEqual({ contents: "old became new" });
  });

  test("of two connections are apart", async () => {
    const [one, two] = [new RawEditor(handlers), new RawEditor(handlers)];
    await Promise.all([one.initialize(), two.initialize()]);
    one.open("mine");
    expect((await two.request(hover, at(0, 0))).result).toBeNull();
  });
});

describe("diagnostics", () => {
  const publish = "textDocument/publishDiagnostics";
  const diagnostic = (message: string) => ({
    range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } },
    message,
  });

  test("are sent after each change to a client that does not request them", async () => {
    const editor = new RawEditor({
      "textDocument/diagnostic": ({ textDocument }, { documents }) => ({
        kind: "full",
        items: [diagnostic(documents.get(textDocument.uri)?.text ?? "")],
      }),
    });
    await editor.initialize();
    editor.open("one");
    expect((await editor.nextOf(publish)).params).toEqual({
      uri: "file:///a",
      version: 1,
      diagnostics: [diagnostic("one")],
    });
    editor.change(2, [0, 3], "two");
    expect((await editor.nextOf(publish)).params).toMatchObject({
      version: 2,
      diagnostics: [diagnostic("two")],
    });
    editor.notify("textDocument/didClose", { textDocument: { uri: "file:///a" } });
    expect((await editor.nextOf(publish)).params).toEqual({ uri: "file:///a", diagnostics: [] });
  });

  test("are not sent to a client that requests them", async () => {
    const editor = new RawEditor({
      "textDocument/diagnostic": () => ({ kind: "full", items: [] }),
    });
    await editor.initialize({ capabilities: { textDocument: { diagnostic: {} } } });
    editor.open("one");
    const { result } = await editor.request("textDocument/diagnostic", {
      textDocument: { uri: "file:///a" },
    });
    expect(result).toEqual({ kind: "full", items: [] });
    expect(editor.received).toEqual([]);
  });

  test("of an older version are dropped, and changes meanwhile are handled once", async () => {
    const runs: { text: string; finish: () => void }[] = [];
    const begun: (() => void)[] = [];
    const editor = new RawEditor({
      "textDocument/diagnostic": ({ textDocument }, { documents }) =>
        new Promise((resolve) => {
          const text = documents.get(textDocument.uri)?.text ?? "";
          runs.push({ text, finish: () => resolve({ kind: "full", items: [diagnostic(text)] }) });
          begun.shift()?.();
        }),
    });
    const next = () => new Promise<void>((resolve) => begun.push(resolve));
    await editor.initialize();
    const first = next();
    editor.open("0");
    await first;
    for (const version of [2, 3, 4]) editor.change(version, [0, 1], String(version));
    await editor.request("nothing");
    const second = next();
    runs[0]?.finish();
    await second;
    runs[1]?.finish();
    expect((await editor.nextOf(publish)).params).toMatchObject({
      version: 4,
      diagnostics: [diagnostic("4")],
    });
    expect(runs.map(({ text }) => text)).toEqual(["0", "4"]);
  });
});
