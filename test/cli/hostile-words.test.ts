/** What a server says cannot steer the terminal, wherever it says it. */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { build, finish } from "./process.ts";

const red = "\u001b[31m\u009b31mred\u0007";

let server: Server;
let http: string;
let ws: string;
let folder: string;
let recording: string;

/** Says it in the names of its methods, in members of its errors, in a header and in the reason to leave. */
beforeAll(async () => {
  await build();
  folder = await mkdtemp(join(tmpdir(), "callwire-words-"));
  recording = join(folder, "recording.jsonl");
  const place = { time: "2026-01-01T00:00:00Z", connection: 1, wire: "http" };
  const lines = [
    { ...place, from: "client", message: { jsonrpc: "2.0", method: "x", id: 1 } },
    { ...place, from: "server", message: { jsonrpc: "2.0", result: {}, id: 1 } },
  ];
  await writeFile(recording, lines.map((line) => JSON.stringify(line)).join("\n"));
  server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    if (request.url === "/header") {
      response.writeHead(500, { "content-type": "text/\u009b31m" }).end("no");
      return;
    }
    const { method, id } = JSON.parse(text || "{}") as { method?: string; id?: number };
    const methods = [{ name: `delete ${red}`, params: [] }];
    const answers: Record<string, object> = {
      "rpc.discover": { result: { openrpc: "1.3.2", info: { title: "", version: "" }, methods } },
      x: { result: { [red]: red } },
      spaces: { error: { code: 1, message: `so${" ".repeat(1_000_000)}far` } },
      words: { error: { code: 1, message: `so far ${"a+".repeat(500_000)}` } },
    };
    const error = { code: -32601, message: "Method not found" };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(answers[`${method}`] ?? { error }) }));
  }).listen(0, "127.0.0.1");
  new WebSocketServer({ server }).on("connection", (socket) => {
    socket.on("message", () => socket.close(1008, red));
  });
  await once(server, "listening");
  http = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  ws = http.replace("http", "ws");
}, 60_000);

afterAll(async () => {
  server?.close();
  await rm(folder, { recursive: true, force: true });
});

test.each<[string, () => string[]]>([
  ["call", () => [ws, "x"]],
  ["inspect", () => [ws]],
  ["inspect", () => [`${http}/header`]],
  ["bench", () => [ws, "x"]],
  ["audit", () => [http]],
  ["replay", () => [recording, http]],
])("callwire %s", async (verb, args) => {
  const { stdout, stderr } = await finish([verb, ...args()]);
  expect(stdout + stderr).toContain("\\u009b31m");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not pass
  expect(stdout + stderr).not.toMatch(/[\u0007\u001b\u0080-\u009f]/);
});

test.each(["spaces", "words"])("an error of a million %s is told at once", async (method) => {
  const { code, stderr } = await finish(["call", http, method]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/so\s+far/);
});
