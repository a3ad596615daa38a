// Drives the language server as an editor does, and prints what an editor would show.
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import { lspClient, lspStdioLink, TextDocument } from "callwire/lsp";

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const link = lspStdioLink(process.execPath, [
  "--import",
  new URL("../typescript.mjs", import.meta.url).href,
  file("language-server.ts"),
  "--stdio",
]);

const shown = new EventEmitter();
await using client = await lspClient(link, {
  "textDocument/publishDiagnostics": ({ diagnostics }) => {
    for (const { range, message } of diagnostics)
      console.log(`line ${range.start.line + 1}: ${message}`);
    shown.emit("diagnostics");
  },
});
console.log(
  `${client.server.serverInfo?.name} offers rename: ${client.offers("textDocument/rename")}`,
);

const uri = "file:///shopping.tally";
const document = new TextDocument({
  uri,
  languageId: "tally",
  version: 1,
  text: "apples=3\nprice = apples*2 # euros\ntotal = price + tax\n",
});
const diagnosed = once(shown, "diagnostics");
client.notify("textDocument/didOpen", { textDocument: { ...document } });
await diagnosed;

const textDocument = { uri };
const position = { line: 1, character: 2 };
const hover = await client.request("textDocument/hover", { textDocument, position });
console.log(`hover: ${JSON.stringify(hover?.contents)}`);
const items = await client.request("textDocument/completion", {
  textDocument,
  position: { line: 2, character: 8 },
});
console.log(
  "completion:",
  Array.isArray(items) ? items.map(({ label }) => label).join(", ") : items,
);
const renamed = await client.request("textDocument/rename", {
  textDocument,
  position,
  newName: "cost",
});
console.log(document.edited(renamed?.changes?.[uri] ?? []).trimEnd());
const edits = await client.request("textDocument/formatting", {
  textDocument,
  options: { tabSize: 2, insertSpaces: true },
});
console.log(document.edited(edits ?? []).trimEnd());
