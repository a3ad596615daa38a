import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type Diagnostic,
  type LspClient,
  lspClient,
  lspStdioLink,
  TextDocument,
} from "callwire/lsp";
import { afterAll, expect, test } from "vitest";
import { root } from "../entries.ts";
import { describeWith, pathOf } from "../services.ts";

/** A client with one document, and its diagnostics as they arrive. */
class Editor {
  readonly document: TextDocument;
  diagnostics: readonly Diagnostic[] = [];
  #client: LspClient | undefined;

  constructor(uri: string, languageId: string, text: string) {
    this.document = new TextDocument({ uri, languageId, version: 1, text });
  }

  get client(): LspClient {
    return this.#client as LspClient;
  }

  async open(command: string, args: readonly string[], folder: string): Promise<void> {
    const link = lspStdioLink(command, args, { cwd: folder, stderr: "ignore" });
    const rootUri = pathToFileURL(folder).href;
    this.#client = await lspClient(
      link,
      {
        "textDocument/publishDiagnostics": ({ uri, diagnostics }) => {
          if (uri === this.document.uri) this.diagnostics = diagnostics;
        },
        "workspace/configuration": ({ items }) => items.map(() => null),
      },
      { initialize: { rootUri, workspaceFolders: [{ uri: rootUri, name: "test" }] } },
    );
    this.client.notify("textDocument/didOpen", { textDocument: { ...this.document } });
  }

  at(text: string) {
    const position = this.document.positionAt(this.document.text.indexOf(text));
    return { textDocument: { uri: this.document.uri }, position };
  }
}

const folder = mkdtempSync(join(tmpdir(), "callwire-lsp-"));

function editorOf(name: string, languageId: string, text: string): Editor {
  const path = join(folder, name);
  writeFileSync(path, text);
  return new Editor(pathToFileURL(path).href, languageId, text);
}

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describeWith(["npm peers"], "typescript-language-server", () => {
  test("answers our client, from diagnostics to a rename", async () => {
    const packages = join(root, "test/interop/node_modules");
    const editor = editorOf(
      "a.ts",
      "typescript",
      "const greeting: number = '🚀';\ngreeting.toFixed();\n",
    );
    const program = join(packages, "typescript-language-server/lib/cli.mjs");
    await editor.open(process.execPath, [program, "--stdio"], packages);
    await expect.poll(() => editor.diagnostics.map(({ code }) => code)).toContain(2322);
    const hover = await editor.client.request("textDocument/hover", editor.at("greeting."));
    expect(JSON.stringify(hover)).toContain("const greeting: number");
    const renamed = await editor.client.request("textDocument/rename", {
      ...editor.at("greeting"),
      newName: "hello",
    });
    const edits = renamed?.changes?.[editor.document.uri] ?? [];
    expect(editor.document.edited(edits)).toBe("const hello: number = '🚀';\nhello.toFixed();\n");
    const found = await editor.client.request("textDocument/completion", editor.at("toFixed"));
    const items = Array.isArray(found) ? found : (found?.items ?? []);
    expect(items.map(({ label }) => label)).toContain("toFixed");
    await editor.client.close();
  });
});

describeWith(["python3-pylsp"], "pylsp", () => {
  test("answers our client", async () => {
    const editor = editorOf(
      "a.py",
      "python",
      "def greet(name):\n    return name\n\n\ngreet('x')\n",
    );
    await editor.open(pathOf("python3-pylsp"), [], folder);
    expect(editor.client.offers("textDocument/hover")).toBe(true);
    const definition = await editor.client.request(
      "textDocument/definition",
      editor.at("greet('x')"),
    );
    expect(definition).toMatchObject([{ uri: editor.document.uri, range: { start: { line: 0 } } }]);
    const symbols = await editor.client.request("textDocument/documentSymbol", {
      textDocument: { uri: editor.document.uri },
    });
    expect(symbols?.map(({ name }) => name)).toContain("greet");
    await editor.client.close();
  });
});
