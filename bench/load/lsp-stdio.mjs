/** An editor on the standard input and output of a language server, after a handshake. */
import { isDeepStrictEqual } from "node:util";
import { items } from "../candidates/lsp-items.mjs";
import { contentLength } from "./framing.mjs";
import { createWindow } from "./window.mjs";

const uri = "file:///bench.txt";
const textDocument = { uri };
const line = "A line of a document of usual length, with some words in it.";
const text = `${line}\n`.repeat(1_000);
const changes = 1_000;

const handshake = [
  {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { processId: null, rootUri: null, capabilities: {} },
  },
  { jsonrpc: "2.0", method: "initialized", params: {} },
  {
    jsonrpc: "2.0",
    method: "textDocument/didOpen",
    params: { textDocument: { uri, languageId: "plain", version: 1, text } },
  },
];

const workloads = {
  "completion with 1,000 items": () => ({
    repeats: true,
    request: (slot) => [request(slot, "textDocument/completion")],
    slotOf: checked(items),
  }),
  "1,000 document changes": () => ({
    repeats: true,
    request: (slot) => [...typed(), request(slot, "textDocument/hover")],
    slotOf: checked({ contents: line }),
  }),
};

export async function connect(_, child) {
  for (const message of handshake) child.stdin.write(contentLength.encode(JSON.stringify(message)));
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return {
    async prepare(workload) {
      const exchange = createWindow({
        input: child.stdout,
        output: child.stdin,
        framing: contentLength,
        dialect: workloads[workload](),
      });
      await exchange(1, 0);
      return (ms) => exchange(1, ms);
    },
  };
}

function request(slot, method) {
  const params = { textDocument, position: { line: 0, character: 0 } };
  return JSON.stringify({ jsonrpc: "2.0", id: slot + 1, method, params });
}

/** A user who types in many places: half of the changes insert a letter, the others remove it again. */
function typed() {
  return Array.from({ length: changes }, (_, i) => {
    const at = { line: 1 + (Math.floor(i / 2) % 900), character: 5 };
    const end = { line: at.line, character: i % 2 === 0 ? 5 : 6 };
    const contentChanges = [{ range: { start: at, end }, text: i % 2 === 0 ? "x" : "" }];
    const params = { textDocument: { uri, version: i + 2 }, contentChanges };
    return JSON.stringify({ jsonrpc: "2.0", method: "textDocument/didChange", params });
  });
}

/** The first reply is compared in full, later ones by their text. */
function checked(result) {
  const slots = new Map();
  return (reply) => {
    const known = slots.get(reply);
    if (known !== undefined) return known;
    const { id, result: given } = JSON.parse(reply);
    if (!isDeepStrictEqual(given, result)) throw new Error(`wrong reply: ${reply.slice(0, 200)}`);
    slots.set(reply, id - 1);
    return id - 1;
  };
}
