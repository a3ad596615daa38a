// A language server for Tally. Editors start it with --stdio; init.lua shows how for neovim.

import { RpcError } from "callwire";
import {
  CompletionItemKind,
  DiagnosticSeverity,
  LspErrorCode,
  type LspServer,
  lspServer,
  type Position,
  type Range,
  serveLsp,
  type TextDocument,
} from "callwire/lsp";
import { formatted, parse, type Token } from "./tally.ts";

const server: LspServer = lspServer(
  {
    // Sent to clients that only show diagnostics, and answered to those that ask for them.
    "textDocument/diagnostic": ({ textDocument }, { documents }) => {
      const { problems } = parse(documents.get(textDocument.uri)?.text ?? "");
      const items = problems.map(({ line, start, end, message }) => ({
        range: rangeOf(line, start, end),
        severity: DiagnosticSeverity.Error,
        source: "tally",
        message,
      }));
      return { kind: "full", items };
    },

    "textDocument/hover": ({ textDocument, position }, { documents }) => {
      const document = documents.get(textDocument.uri);
      const token = document && nameAt(document, position);
      const value = document && token && parse(document.text).values.get(token.text);
      if (token === undefined || value === undefined) return null;
      return {
        contents: { kind: "markdown", value: `**${token.text}** = ${value}` },
        range: rangeOf(position.line, token.start, token.start + token.text.length),
      };
    },

    "textDocument/completion": ({ textDocument, position }, { documents }) => {
      const { sums, values } = parse(documents.get(textDocument.uri)?.text ?? "");
      return [...sums.values()]
        .filter(({ line }) => line < position.line)
        .map(({ name }) => ({
          label: name.text,
          kind: CompletionItemKind.Variable,
          detail: `= ${values.get(name.text) ?? "?"}`,
        }));
    },

    "textDocument/rename": ({ textDocument, position, newName }, { documents }) => {
      const document = documents.get(textDocument.uri);
      const token = document && nameAt(document, position);
      if (document === undefined || token === undefined) return null;
      if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(newName)) {
        throw new RpcError(LspErrorCode.RequestFailed, `"${newName}" is not a name`);
      }
      const edits = parse(document.text).lines.flatMap((tokens, line) =>
        tokens
          .filter(({ kind, text }) => kind === "name" && text === token.text)
          .map(({ start, text }) => ({
            range: rangeOf(line, start, start + text.length),
            newText: newName,
          })),
      );
      return { changes: { [document.uri]: edits } };
    },

    "textDocument/formatting": ({ textDocument }, { documents }) => {
      const document = documents.get(textDocument.uri);
      if (document === undefined) return null;
      return Array.from({ length: document.lineCount }, (_, line) => line).flatMap((line) => {
        const before = document.lineAt(line);
        const newText = formatted(before);
        return before === newText ? [] : [{ range: rangeOf(line, 0, before.length), newText }];
      });
    },
  },
  { info: { name: "tally", version: "1.0.0" } },
);

await serveLsp(server);

function nameAt(document: TextDocument, { line, character }: Position): Token | undefined {
  const tokens = parse(document.text).lines[line] ?? [];
  return tokens.find(
    ({ kind, start, text }) =>
      kind === "name" && start <= character && character <= start + text.length,
  );
}

function rangeOf(line: number, start: number, end: number): Range {
  return { start: { line, character: start }, end: { line, character: end } };
}
