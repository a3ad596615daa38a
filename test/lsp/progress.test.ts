import { describe, expect, test } from "vitest";
import { at, RawEditor } from "./editor.ts";

const references = "textDocument/references";
const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };
const location = (uri: string) => ({ uri, range });
const params = { ...at(0, 0), context: { includeDeclaration: true } };

describe("a request", () => {
  const handlers = {
    [references]: async (
      _: unknown,
      call: {
        partial(items: { uri: string; range: typeof range }[]): void;
        progress(value: { kind: "end" } | { kind: "begin"; title: string }): void;
      },
    ) => {
      call.progress({ kind: "begin", title: "Searching" });
      call.partial([location("a")]);
      await Promise.resolve();
      call.partial([location("b")]);
      call.progress({ kind: "end" });
      return [location("c")];
    },
  } as const;

  test("sends progress and parts to a client that asks for them, in order", async () => {
    const editor = new RawEditor(handlers);
    await editor.initialize();
    const { result } = await editor.request(references, {
      ...params,
      workDoneToken: "work",
      partialResultToken: 7,
    });
    expect(result).toEqual([location("c")]);
    expect(editor.received.map((message) => message.params)).toEqual([
      { token: "work", value: { kind: "begin", title: "Searching" } },
      { token: 7, value: [location("a")] },
      { token: 7, value: [location("b")] },
      { token: "work", value: { kind: "end" } },
    ]);
  });

  test.each([{}, { workDoneToken: null, partialResultToken: null }])(
    "answers with the whole result if the client asks with %j",
    async (tokens) => {
      const editor = new RawEditor(handlers);
      await editor.initialize();
      const { result } = await editor.request(references, { ...params, ...tokens });
      expect(result).toEqual([location("a"), location("b"), location("c")]);
      expect(editor.received).toEqual([]);
    },
  );

  test("joins parts with a list, with nothing and with tokens", async () => {
    const editor = new RawEditor(
      {
        "textDocument/completion": (_, call) => {
          call.partial([{ label: "a" }]);
          return { isIncomplete: true, items: [{ label: "b" }] };
        },
        "textDocument/foldingRange": (_, call) => {
          call.partial([{ startLine: 1, endLine: 2 }]);
          return null;
        },
        "textDocument/semanticTokens/full": (_, call) => {
          call.partial({ data: [1] });
          return { resultId: "x", data: [2] };
        },
      },
      {
        capabilities: {
          semanticTokensProvider: { legend: { tokenTypes: [], tokenModifiers: [] } },
        },
      },
    );
    await editor.initialize();
    expect((await editor.request("textDocument/completion", at(0, 0))).result).toEqual({
      isIncomplete: true,
      items: [{ label: "a" }, { label: "b" }],
    });
    const textDocument = { uri: "file:///a" };
    expect((await editor.request("textDocument/foldingRange", { textDocument })).result).toEqual([
      { startLine: 1, endLine: 2 },
    ]);
    expect(
      (await editor.request("textDocument/semanticTokens/full", { textDocument })).result,
    ).toEqual({ resultId: "x", data: [1, 2] });
  });
});

describe("work that the server begins", () => {
  test("is created, reported, cancelled and ended", async () => {
    let aborted = false;
    const editor = new RawEditor({
      initialized: async (_, { client }) => {
        const work = await client.beginProgress({ title: "Indexing", cancellable: true });
        work.signal.addEventListener("abort", () => {
          aborted = true;
          work.end("stopped");
          work.report({ message: "too late" });
        });
        work.report({ message: "half", percentage: 50 });
      },
    });
    await editor.initialize({ capabilities: { window: { workDoneProgress: true } } });
    const create = await editor.nextOf("window/workDoneProgress/create");
    editor.send({ id: create.id as number, result: null });
    const token = create.params?.token;
    const values = [await editor.nextOf("$/progress"), await editor.nextOf("$/progress")];
    expect(values.map((message) => message.params)).toEqual([
      { token, value: { kind: "begin", title: "Indexing", cancellable: true } },
      { token, value: { kind: "report", message: "half", percentage: 50 } },
    ]);
    editor.notify("window/workDoneProgress/cancel", { token });
    expect((await editor.nextOf("$/progress")).params).toEqual({
      token,
      value: { kind: "end", message: "stopped" },
    });
    expect(aborted).toBe(true);
    await editor.request("nothing");
    expect(editor.received).toEqual([]);
  });

  test("shows nothing in a client that cannot show it", async () => {
    const editor = new RawEditor({
      initialized: async (_, { client }) =>
        (await client.beginProgress({ title: "Indexing" })).end(),
    });
    await editor.initialize();
    await editor.request("nothing");
    expect(editor.received).toEqual([]);
  });
});

describe("registration", () => {
  test("offers a method while the server runs, and takes it back", async () => {
    const editor = new RawEditor({
      "textDocument/formatting": () => [],
      initialized: async (_, { client }) => {
        const registered = await client.register("textDocument/formatting", {
          documentSelector: [{ language: "tally" }],
        });
        await registered.unregister();
        client.notify("window/logMessage", { type: 3, message: "done" });
      },
    });
    await editor.initialize();
    const register = await editor.nextOf("client/registerCapability");
    const { registrations } = register.params as { registrations: { id: string }[] };
    const id = registrations[0]?.id;
    expect(register.params).toEqual({
      registrations: [
        {
          id,
          method: "textDocument/formatting",
          registerOptions: { documentSelector: [{ language: "tally" }] },
        },
      ],
    });
    editor.send({ id: register.id as number, result: null });
    const unregister = await editor.nextOf("client/unregisterCapability");
    expect(unregister.params).toEqual({
      unregisterations: [{ id, method: "textDocument/formatting" }],
    });
    editor.send({ id: unregister.id as number, result: null });
    await editor.nextOf("window/logMessage");
  });
});

describe("a method without a registration of its own", () => {
  test.each([
    ["textDocument/semanticTokens/full", "textDocument/semanticTokens"],
    ["notebookDocument/didOpen", "notebookDocument/sync"],
  ] as const)("%s is registered as %s", async (method, name) => {
    const editor = new RawEditor({
      initialized: async (_, { client }) => {
        const registered = await client.register(method, {} as never);
        await registered.unregister();
      },
    });
    await editor.initialize();
    const register = await editor.nextOf("client/registerCapability");
    expect(register.params).toMatchObject({ registrations: [{ method: name }] });
    editor.send({ id: register.id as number, result: null });
    const unregister = await editor.nextOf("client/unregisterCapability");
    expect(unregister.params).toMatchObject({ unregisterations: [{ method: name }] });
  });

  test("can be registered if what is above it can", async () => {
    const dynamicRegistration = true;
    const editor = new RawEditor({
      [references]: (_, { client }) => {
        const methods = [
          "textDocument/didSave",
          "textDocument/semanticTokens/full/delta",
          "workspace/didCreateFiles",
          "notebookDocument/didOpen",
          "textDocument/hover",
          "$/setTrace",
        ] as const;
        const found = methods.filter((method) => client.canRegister(method));
        return found.map(location);
      },
    });
    await editor.initialize({
      capabilities: {
        textDocument: {
          synchronization: { dynamicRegistration, didSave: true },
          semanticTokens: {
            dynamicRegistration,
            requests: { full: { delta: true } },
            tokenTypes: [],
            tokenModifiers: [],
            formats: [],
          },
          hover: {},
        },
        workspace: { fileOperations: { dynamicRegistration, didCreate: true } },
        notebookDocument: { synchronization: { dynamicRegistration } },
      },
    });
    const { result } = await editor.request(references, params);
    expect((result as { uri: string }[]).map(({ uri }) => uri)).toEqual([
      "textDocument/didSave",
      "textDocument/semanticTokens/full/delta",
      "workspace/didCreateFiles",
      "notebookDocument/didOpen",
    ]);
  });
});

describe("configuration", () => {
  const section = "textDocument/hover";

  test("is requested once, and again after a change", async () => {
    const editor = new RawEditor({
      [section]: async (_, { client }) => ({
        contents: JSON.stringify(await client.configuration.get("tally", "file:///a")),
      }),
    });
    await editor.initialize({
      capabilities: {
        workspace: { configuration: true, didChangeConfiguration: { dynamicRegistration: true } },
      },
    });
    const ask = async (settings: unknown) => {
      const reply = editor.request(section, at(0, 0));
      const asked = await editor.nextOf("workspace/configuration");
      expect(asked.params).toEqual({ items: [{ section: "tally", scopeUri: "file:///a" }] });
      editor.send({ id: asked.id as number, result: [settings] });
      return (await reply).result;
    };
    expect(await ask({ digits: 2 })).toEqual({ contents: '{"digits":2}' });
    expect((await editor.nextOf("client/registerCapability")).params).toMatchObject({
      registrations: [{ method: "workspace/didChangeConfiguration" }],
    });
    expect((await editor.request(section, at(0, 0))).result).toEqual({ contents: '{"digits":2}' });
    editor.notify("workspace/didChangeConfiguration", { settings: null });
    expect(await ask(null)).toEqual({ contents: "null" });
  });

  test("of a client that cannot be asked is what it sent", async () => {
    let changes = 0;
    const editor = new RawEditor({
      initialized: (_, { client }) => {
        client.configuration.onChange(() => changes++);
      },
      [section]: async (_, { client }) => ({
        contents: String(await client.configuration.get("tally.digits")),
      }),
    });
    await editor.initialize();
    expect((await editor.request(section, at(0, 0))).result).toEqual({ contents: "null" });
    editor.notify("workspace/didChangeConfiguration", { settings: { tally: { digits: 3 } } });
    expect((await editor.request(section, at(0, 0))).result).toEqual({ contents: "3" });
    expect(changes).toBe(1);
  });
});
