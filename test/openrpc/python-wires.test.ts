import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createServer, type Middleware, method, silentLog, stream } from "callwire";
import { serveHttp } from "callwire/http/node";
import { traceContextOf } from "callwire/observability";
import { openrpcDocument, pythonClient } from "callwire/openrpc";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { describeWith, pathOf } from "../services.ts";
import { type Workplace, workplace } from "./clients.ts";

const hasPython = spawnSync("python3", ["--version"]).status === 0;
const isRequired = process.env["CI"] === "true";
const certificate = fileURLToPath(new URL("../fixtures/tls/test-only-cert.pem", import.meta.url));

interface Served {
  readonly place: Workplace;
  readonly http: string;
  readonly ws: string;
  /** How many connections were opened. */
  readonly connections: () => number;
  /** How the calls of `stopped` ended. */
  readonly stops: string[];
  /** The trace of each call. */
  readonly traces: unknown[];
}

async function served(isSecure = false): Promise<Served> {
  const stops: string[] = [];
  const traces: unknown[] = [];
  const methods = {
    add: method(
      { params: z.object({ a: z.number(), b: z.number() }), result: z.number() },
      ({ a, b }) => a + b,
    ),
    facts: method({ result: z.record(z.string(), z.unknown()) }, (_params, call) => ({
      token: call.transport?.headers?.["authorization"] ?? null,
      hasDeadline: call.deadline !== undefined,
    })),
    count: stream({ params: z.object({ to: z.int() }), item: z.int() }, function* ({ to }) {
      for (let i = 0; i < to; i++) yield i;
    }),
    stopped: method({ params: z.object({ timeout: z.string() }) }, async ({ timeout }, call) => {
      await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
      stops.push(timeout);
    }),
    nested: {
      fail: method({ errors: { LOST: { code: 7 } } }, (_params, _call, errors) => {
        throw errors.LOST();
      }),
    },
  };
  const traced: Middleware = (next) => (request, context) => {
    traces.push(traceContextOf(request, context.transport)?.traceparent);
    return next(request, context);
  };
  const server = createServer(methods, { log: silentLog, use: [traced] });
  onTestFinished(() => server.close());
  const pem = (name: string): string =>
    readFileSync(new URL(`../fixtures/tls/test-only-${name}.pem`, import.meta.url), "utf8");
  const tls = isSecure ? { tls: { cert: pem("cert"), key: pem("key") } } : {};
  const { url, server: node } = await serveHttp(server, { port: 0, fastPath: false, ...tls });
  let connections = 0;
  node.on("connection", () => connections++);
  const place = await workplace();
  onTestFinished(() => place[Symbol.asyncDispose]());
  await place.write("client.py", pythonClient(openrpcDocument(server.methods)));
  const http = url.replace("127.0.0.1", "localhost");
  return {
    place,
    http,
    ws: `${http.replace("http", "ws")}/ws`,
    connections: () => connections,
    stops,
    traces,
  };
}

async function output(place: Workplace, program: string): Promise<unknown> {
  await place.write("main.py", `import asyncio, json, ssl\nfrom client import *\n${program}`);
  const text = await place.python("-W", "error", "main.py");
  return text.startsWith("[") ? JSON.parse(text) : text;
}

describe.skipIf(!hasPython && !isRequired)(
  `Python (${hasPython ? "found" : "SKIPPED: there is no python3 here"})`,
  () => {
    describe.each(["http", "ws"] as const)("over %s", (wire) => {
      test("calls one after another share a connection", async () => {
        const { place, connections, ...urls } = await served();
        const program = `
with Client("${urls[wire]}") as client:
    out = [client.api.add(1, 2), client.api.add(a=3, b=4), sum(client.api.count(300)), client.notify("add", [1, 2])]
    out.append(client.batch([("add", [1, 2]), ("nothing", None)])[0])
    try:
        client.api.nested.fail()
    except RpcError as error:
        out.append(error.code)
    items = client.api.count(100000)
    out.append([next(items), next(items)])
    items.close()
    out.append(client.api.add(5, 6))
print(json.dumps(out))
`;
        expect(await output(place, program)).toEqual([3, 7, 44850, null, 3, 7, [0, 1], 11]);
        // Over HTTP, each of the two streams ends with its connection.
        expect(connections()).toBe(wire === "http" ? 3 : 1);
      });

      test("the client for asyncio does the same, with calls at the same time", async () => {
        const { place, ...urls } = await served();
        const program = `
async def main():
    async with AsyncClient("${urls[wire]}") as client:
        out = await asyncio.gather(*[client.api.add(i, 1) for i in range(20)])
        out.append(sum([n async for n in client.api.count(300)]))
        out.append(await client.notify("add", [1, 2]))
        out.append((await client.batch([("add", [1, 2]), ("nothing", None)]))[0])
        try:
            await client.api.nested.fail()
        except RpcError as error:
            out.append(error.code)
        items = client.api.count(100000)
        out.append([await items.__anext__(), await items.__anext__()])
        await items.aclose()
        out.append(await client.api.add(5, 6))
        print(json.dumps(out))

asyncio.run(main())
`;
        const sums = Array.from({ length: 20 }, (_, i) => i + 1);
        expect(await output(place, program)).toEqual([...sums, 44850, null, 3, 7, [0, 1], 11]);
      });

      test("a call takes a timeout, which reaches the server, and headers and a trace go along", async () => {
        const { place, stops, traces, ...urls } = await served();
        const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        const program = `
options = {"headers": lambda: {"authorization": "Bearer t"}, "traceparent": lambda: "${trace}"}
out = []
with Client("${urls[wire]}", **options) as client:
    out.append(client.api.facts())
    try:
        client.api.stopped("ours", timeout2=0.2)
    except (WireError, RpcError) as error:
        out.append("late")

async def main():
    async with AsyncClient("${urls[wire]}", **options) as client:
        out.append(await client.api.facts())
        try:
            await client.api.stopped("async", timeout2=0.2)
        except (WireError, RpcError) as error:
            out.append("late")

asyncio.run(main())
print(json.dumps(out))
`;
        const facts = { token: "Bearer t", hasDeadline: true };
        expect(await output(place, program)).toEqual([facts, "late", facts, "late"]);
        expect(traces).toEqual(Array(4).fill(trace));
        await expect.poll(() => stops).toEqual(["ours", "async"]);
      });

      test("an ssl_context decides which certificates are trusted", async () => {
        const { place, ...urls } = await served(true);
        const program = `
context = ssl.create_default_context(cafile=${JSON.stringify(certificate)})
out = []
with Client("${urls[wire]}", ssl_context=context) as client:
    out.append(client.api.add(1, 2))
try:
    Client("${urls[wire]}").api.add(1, 2)
except WireError as error:
    out.append("CERTIFICATE_VERIFY_FAILED" in str(error))

async def main():
    async with AsyncClient("${urls[wire]}", ssl_context=context) as client:
        out.append(await client.api.add(1, 2))

asyncio.run(main())
print(json.dumps(out))
`;
        expect(await output(place, program)).toEqual([3, true, 3]);
      });
    });

    test("a WebSocket that was lost fails its calls, and the next call opens another", async () => {
      const { place, ws } = await served();
      const program = `
import socket as sockets
client = Client("${ws}")
out = [client.api.add(1, 2)]
lost = client._wire._wire._opening.result()._writer.get_extra_info("socket")
lost.shutdown(sockets.SHUT_RDWR)
try:
    out.append(client.api.add(3, 4))
except WireError:
    out.append(client.api.add(3, 4))
print(json.dumps(out))
`;
      expect(await output(place, program)).toEqual([3, 7]);
    });
  },
);

describeWith(["mypy"], "mypy", () => {
  test("finds nothing wrong, at its strictest, with a client and a program that uses it", async () => {
    const { place } = await served();
    await place.write(
      "main.py",
      `
from typing import List
from client import AsyncClient, Client

def total(client: Client) -> float:
    items: List[int] = list(client.api.count(3, timeout=1.5))
    return client.api.add(1, 2) + sum(items)

async def later(client: AsyncClient) -> float:
    items: List[int] = [item async for item in client.api.count(3)]
    return await client.api.add(1, 2) + sum(items)
`,
    );
    const { stdout, status } = spawnSync(pathOf("mypy"), ["--strict", "main.py", "client.py"], {
      cwd: place.folder,
      encoding: "utf8",
    });
    expect(stdout).toContain("Success");
    expect(status).toBe(0);
  });
});
