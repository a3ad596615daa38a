import {
  type ApplyWorkspaceEditResult,
  type Hover,
  type HoverParams,
  type Location,
  type LspClient,
  type LspServerHandlers,
  lspServer,
  type Position,
  type TextDocument,
  type WorkspaceFolder,
} from "callwire/lsp";
import { expectTypeOf, test } from "vitest";

test("handlers are typed by the names of their methods", () => {
  lspServer({
    "textDocument/hover": (params, call) => {
      expectTypeOf(params).toEqualTypeOf<HoverParams>();
      expectTypeOf(params.position).toEqualTypeOf<Position>();
      expectTypeOf(call.documents.get("")).toEqualTypeOf<TextDocument | undefined>();
      return null;
    },
    "textDocument/references": (_, call) => {
      expectTypeOf(call.partial).parameter(0).toEqualTypeOf<Location[]>();
      return [];
    },
    "textDocument/didSave": ({ text }) => {
      expectTypeOf(text).toEqualTypeOf<string | undefined>();
    },
  });
});

test("a result that may be null may be left out, and others may not", () => {
  lspServer({ "textDocument/hover": () => {} });
  lspServer({ "textDocument/hover": async () => undefined });
  // @ts-expect-error a color is missing
  lspServer({ "textDocument/documentColor": () => {} });
});

test("a wrong name, a wrong result and a handler of the lifecycle are refused", () => {
  // @ts-expect-error the method is not part of the protocol
  lspServer({ "textDocument/hovver": () => null });
  // @ts-expect-error the result is not a hover
  lspServer({ "textDocument/hover": () => 5 });
  // @ts-expect-error the library handles it
  lspServer({ exit: () => {} });
});

test("the client of a call is typed both ways", () => {
  const handlers: LspServerHandlers = {
    initialized: async (_, { client }) => {
      expectTypeOf(await client.request("workspace/workspaceFolders")).toEqualTypeOf<
        WorkspaceFolder[] | null
      >();
      expectTypeOf(
        await client.request("workspace/applyEdit", { edit: {} }),
      ).toEqualTypeOf<ApplyWorkspaceEditResult>();
      client.notify("window/showMessage", { type: 3, message: "Hello" });
      // @ts-expect-error the params are missing
      client.request("workspace/applyEdit");
      // @ts-expect-error a client does not hover
      client.request("textDocument/hover", {});
      // @ts-expect-error the registration needs a selector
      client.register("textDocument/formatting", {});
    },
  };
  lspServer(handlers);
});

test("requests of a client are typed", () => {
  const use = async (client: LspClient, params: HoverParams): Promise<void> => {
    expectTypeOf(await client.request("textDocument/hover", params)).toEqualTypeOf<Hover | null>();
    client.notify("exit");
    // @ts-expect-error the params are missing
    await client.request("textDocument/hover");
  };
  expectTypeOf(use).returns.resolves.toEqualTypeOf<void>();
});
