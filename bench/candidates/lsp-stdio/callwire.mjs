import { lspServer, serveLsp } from "callwire/lsp";
import { items } from "../lsp-items.mjs";

export default async () => {
  const server = lspServer({
    "textDocument/completion": () => items,
    "textDocument/hover": ({ textDocument }, { documents }) => ({
      contents: documents.get(textDocument.uri).lineAt(0),
    }),
  });
  await serveLsp(server, { args: ["--stdio"] });
  return {};
};
