/** Whatever a server sends, it cannot control the terminal. */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { build, finish, start } from "./process.ts";

const red = "\u001b[31m\u009b31mred\u0007\u001b]0;title\u0007\u202eder\u2066\u200f\u2028";

/** Slow for a pattern that starts again at each place. */
const long: Record<string, object> = {
  plus: { code: 1, message: "a+".repeat(400_000) },
  blanks: { code: 1, message: `from${" ".repeat(800_000)}to` },
};

let server: Server;
let http: string;
let ws: string;
let folder: string;
let recording: string;

/**
 * Sends it in the names of its methods, in members of its errors, in a header and in the reason for
 * closing.
 */
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
    const schema = { enum: [red], description: red, properties: { [red]: { const: red } } };
    const methods = [
      {
        name: `delete ${red}`,
        summary: red,
        params: [{ name: red, schema }],
        result: { name: "result", schema },
        errors: [{ code: 1, message: red }],
        examples: [{ name: red, params: [{ name: red, value: red }] }],
      },
    ];
    const info = { title: red, version: red, description: red };
    const result = { openrpc: red, info, methods, components: { schemas: { [red]: schema } } };
    const answers: Record<string, object> = {
      "rpc.discover": { result },
      x: { result: { [red]: red } },
      refused: { error: { code: 1, message: red, data: { [red]: red } } },
    };
    const error = long[`${method}`] ?? { code: -32601, message: "Method not found" };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(answers[`${method}`] ?? { error }) }));
  }).listen(0, "127.0.0.1");
  new WebSocketServer({ server }).on("connection", (socket) => {
    socket.on("message", () => socket.close(1008, red));
  });
  await once(server, "listening");
  http = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  ws = http.replace("http", "ws");
});

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
  ["replay", () => [recording, http, "--json"]],
  ["discover", () => [http]],
  ["discover", () => [http, "--markdown"]],
  ["discover", () => [http, "--html"]],
  ["generate", () => [http]],
  ["generate", () => [http, "--lang", "python"]],
  ["call", () => [http, "refused"]],
  ["call", () => [http, "refused", "--json"]],
  ["call", () => [http, "x", "--json"]],
])("callwire %s", async (verb, args) => {
  const { stdout, stderr } = await finish([verb, ...args()]);
  const said = stdout + stderr;
  expect(said).toContain("\\u009b31m");
  expect(said).not.toMatch(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not pass
    /[\u0007\u001b\u0080-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/,
  );
});

test.each(["plus", "blanks"])("long words do not stop it: %s", async (method) => {
  const { code, stderr } = await finish(["call", http, method]);
  expect(code).toBe(1);
  expect(stderr.length).toBeGreaterThan(800_000);
});

test.each(['se"cret', "se'cret", "se/cret"])("the password %s is not shown", async (password) => {
  for (const scheme of ["http", "nats"]) {
    const { stderr } = await finish(["call", `${scheme}://me:${password}@127.0.0.1:1/rpc`, "x"]);
    expect(stderr).toContain(`${scheme}://***@127.0.0.1:1/rpc`);
    expect(stderr).not.toContain("cret");
  }
});

test("stopping during the search for a similar name shows the failure at once", async () => {
  let onAsked = (): void => {};
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  const silent = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { method, id } = JSON.parse(text) as { method: string; id: number };
    if (method === "rpc.discover") return onAsked();
    response.setHeader("content-type", "application/json");
    const error = { code: -32601, message: "Method not found" };
    response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
  }).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  await using call = start(["call", `http://127.0.0.1:${port}`, "x"]);
  await asked;
  call.child.kill("SIGINT");
  const { code, stderr } = await call.exited;
  silent.close();
  expect(stderr).toBe("callwire: x answered -32601 Method not found\n");
  expect(code).toBe(1);
});
