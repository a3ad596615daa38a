import { items } from "../lsp-items.mjs";

const head = "Content-Length: ";

/** What no server can do without: it parses each message, and keeps of the document only the first line. */
export default () => {
  let unread = "";
  let firstLine = "";
  const results = {
    initialize: () => ({ capabilities: {} }),
    "textDocument/completion": () => items,
    "textDocument/hover": () => ({ contents: firstLine }),
  };
  process.stdin.on("data", (chunk) => {
    unread += chunk.latin1Slice();
    let at = 0;
    for (;;) {
      const headEnd = unread.indexOf("\r\n\r\n", at);
      if (headEnd === -1) break;
      const start = headEnd + 4;
      const end = start + Number(unread.slice(at + head.length, headEnd));
      if (end > unread.length) break;
      const { id, method, params } = JSON.parse(unread.slice(start, end));
      at = end;
      if (method === "textDocument/didOpen") [firstLine] = params.textDocument.text.split("\n");
      if (id === undefined) continue;
      const reply = JSON.stringify({ jsonrpc: "2.0", id, result: results[method]() });
      process.stdout.write(`${head}${Buffer.byteLength(reply)}\r\n\r\n${reply}`);
    }
    unread = unread.slice(at);
  });
  return {};
};
