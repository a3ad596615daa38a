import {
  createConnection,
  StreamMessageReader,
  StreamMessageWriter,
  TextDocumentSyncKind,
  TextDocuments,
} from "vscode-languageserver/node";
import { TextDocument } from "vscode-languageserver-textdocument";
import { items } from "../lsp-items.mjs";

const firstLine = { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } };

export default () => {
  const connection = createConnection(
    new StreamMessageReader(process.stdin),
    new StreamMessageWriter(process.stdout),
  );
  const documents = new TextDocuments(TextDocument);
  connection.onInitialize(() => ({
    capabilities: { textDocumentSync: TextDocumentSyncKind.Incremental },
  }));
  connection.onCompletion(() => items);
  connection.onHover(({ textDocument }) => ({
    contents: documents.get(textDocument.uri).getText(firstLine).trimEnd(),
  }));
  documents.listen(connection);
  connection.listen();
  return {};
};
