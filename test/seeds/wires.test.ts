/** The SSE, WebSocket and stdio examples of those documents, with only the address changed. */
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { build, cli, Process, startDemo } from "../cli/process.ts";

let demo: Process & { readonly origin: string };

beforeAll(async () => {
  await build();
  demo = await startDemo();
});

afterAll(() => demo?.[Symbol.asyncDispose]());

/** The `data:` lines of an event stream, which must end. */
async function dataOf(response: Response): Promise<string[]> {
  expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
  const lines = (await response.text()).split("\n");
  return lines.flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trim()] : []));
}

describe("SSE", () => {
  const chunk = (result: unknown) => ({ jsonrpc: "2.0", result, id: 1 });

  test("GET /rpc/stream sends a chunk per event, then [DONE]", async () => {
    const query = "method=paritosh/stream&message=Hello&id=1";
    const data = await dataOf(await fetch(`${demo.origin}/rpc/stream?${query}`));
    expect(data.at(-1)).toBe("[DONE]");
    expect(data.slice(0, -1).map((text) => JSON.parse(text))).toEqual([..."Hello"].map(chunk));
  });

  test("POST /rpc/stream does the same with a call in its body", async () => {
    const response = await fetch(`${demo.origin}/rpc/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{"jsonrpc":"2.0","method":"math/add_stream","params":{"a":1,"b":2},"id":1}`,
    });
    const data = await dataOf(response);
    expect(data.at(-1)).toBe("[DONE]");
    expect(data.slice(0, -1).map((text) => JSON.parse(text))).toEqual([0, 1, 2, 3].map(chunk));
  });
});

describe("WebSocket", () => {
  test("the Node client gets its answer", async () => {
    const program = `
      const WebSocket = require("ws");
      const ws = new WebSocket("${demo.origin.replace("http", "ws")}/rpc/ws");

      ws.on("open", () => {
        const msg = { jsonrpc: "2.0", method: "paritosh/echo", params: { message: "hi" }, id: 901 };
        ws.send(JSON.stringify(msg));
      });

      ws.on("message", (data) => {
        console.log("WS Response:", data.toString());
      });
    `;
    await using client = new Process(process.execPath, ["--input-type=commonjs", "-e", program]);
    const [, answer = ""] = await client.shown(/WS Response: (.*)\n/);
    expect(JSON.parse(answer)).toEqual({ jsonrpc: "2.0", result: "[Paritosh] hi", id: 901 });
  });

  test("the server pushes onTick until it is stopped", async () => {
    const socket = new WebSocket(`${demo.origin.replace("http", "ws")}/rpc/ws`);
    const heard: { method?: string; id?: number; result?: unknown }[] = [];
    const stopped = new Promise<void>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("open", () => {
        socket.send(`{"jsonrpc":"2.0","method":"ticks/start","params":{"intervalMs":10},"id":1}`);
      });
      socket.on("message", (data) => {
        heard.push(JSON.parse(String(data)));
        if (heard.length === 4) socket.send(`{"jsonrpc":"2.0","method":"ticks/stop","id":2}`);
        if (heard.at(-1)?.id === 2) resolve();
      });
    });
    await stopped;
    socket.close();
    expect(heard[0]).toEqual({ jsonrpc: "2.0", result: "ticking every 10 ms", id: 1 });
    expect(heard.at(-1)).toEqual({ jsonrpc: "2.0", result: "stopped", id: 2 });
    const ticks = heard.slice(1, -1);
    expect(ticks.length).toBeGreaterThanOrEqual(3);
    for (const tick of ticks) expect(tick).toMatchObject({ jsonrpc: "2.0", method: "onTick" });
  });
});

const python = ["python3", "python"].find((name) => spawnSync(name, ["--version"]).status === 0);

describe("stdio", () => {
  test.skipIf(python === undefined)(
    "the Python client gets its answer (needs python3)",
    async () => {
      const program = `
import subprocess, json

proc = subprocess.Popen(
    ${JSON.stringify([process.execPath, cli, "demo", "--stdio"])},
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)

req = {"jsonrpc":"2.0","method":"paritosh/echo","params":{"message":"local call"},"id":777}
proc.stdin.write(json.dumps(req) + "\\n")
proc.stdin.flush()

print(proc.stdout.readline().strip())
proc.terminate()
`;
      const { code, stdout } = await new Process(python ?? "", ["-c", program]).exited;
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toEqual({
        jsonrpc: "2.0",
        result: "[Paritosh] local call",
        id: 777,
      });
    },
  );
});
