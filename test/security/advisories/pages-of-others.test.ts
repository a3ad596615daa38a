/** CVE-2025-66414, CVE-2026-34742, CVE-2026-59950: a page of another site, or a name rebound to this address. */
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer, silentLog, stream } from "callwire";
import { fetchHandler } from "callwire/http";
import { nodeHandler, serveHttp } from "callwire/http/node";
import { wsHandler, wsUpgrade } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { json, RawClient, send } from "../../transports/http/wire.ts";
import { counted, request } from "../serving.ts";

const strangers: [string, Record<string, string>][] = [
  ["another name for this address", { host: "evil.example" }],
  ["another name with our port", { host: "evil.example:8000" }],
  ["a name that ends like ours", { host: "evil-localhost" }],
  ["a name that begins like ours", { host: "localhost.evil.example" }],
  ["a user before our name", { host: "localhost@evil.example" }],
  ["another origin", { origin: "http://evil.example" }],
  ["another port of this machine", { origin: "http://localhost:1" }],
  ["the origin null", { origin: "null" }],
  ["an origin that begins like ours", { origin: "http://localhost.evil.example" }],
  ["another site", { "sec-fetch-site": "cross-site" }],
  ["another part of a site", { "sec-fetch-site": "same-site" }],
];

async function everyDoor() {
  const count = counted();
  const methods = {
    ...count.methods,
    count: stream({}, function* () {
      count.calls++;
      yield 1;
    }),
  };
  const server = createServer(methods, { log: silentLog });
  let page = 0;
  const http = await serveHttp(server, {
    port: 0,
    mounts: {
      "/playground/": (_, response) => {
        page++;
        response.end("page");
      },
    },
  });
  const other = createHttpServer(nodeHandler(server));
  other.on("upgrade", wsUpgrade(server));
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    other.closeAllConnections();
    other.close();
    await server.close({ drainMs: 0 });
  });
  const { port: otherPort } = other.address() as AddressInfo;
  return { server, port: http.port, otherPort, ran: () => count.calls + page };
}

const upgrade = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};

async function statusOfUpgrade(port: number, headers: Record<string, string>): Promise<number> {
  const raw = new RawClient(port);
  const lines = Object.entries({ host: "localhost", ...upgrade, ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  raw.write(`GET /rpc HTTP/1.1\r\n${head}\r\n`);
  const text = await raw.until((heard) => heard.includes("\r\n\r\n"));
  return Number(text.split(" ")[1]);
}

describe.each(strangers)("%s", (_, headers) => {
  test("is refused with 403 at every door, before anything runs", async () => {
    const { server, port, otherPort, ran } = await everyDoor();
    const body = request("echo", ["stolen"]);
    const events = { ...json, ...headers, accept: "text/event-stream" };
    const answers = [
      await send(port, { headers: { ...json, ...headers }, body }),
      await send(otherPort, { headers: { ...json, ...headers }, body, path: "/" }),
      await send(port, { headers: events, body: request("count") }),
      await send(port, { method: "GET", path: "/rpc/stream?method=count", headers }),
      await send(port, { method: "POST", path: "/playground/save", headers }),
    ];
    // A link on another site may lead to a page, but its scripts get nothing.
    if (headers["sec-fetch-site"] === undefined) {
      answers.push(await send(port, { method: "GET", path: "/playground/", headers }));
    }
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 403));
    expect(answers.some(({ headers: all }) => "access-control-allow-origin" in all)).toBe(false);
    expect(await statusOfUpgrade(port, headers)).toBe(403);
    expect(await statusOfUpgrade(otherPort, headers)).toBe(403);
    const fetched = new Request("http://localhost/rpc", {
      method: "POST",
      headers: { ...json, host: "localhost", ...headers },
      body,
    });
    expect((await fetchHandler(server)(fetched)).status).toBe(403);
    const asked = new Request("http://localhost/rpc", {
      headers: { host: "localhost", ...headers },
    });
    expect(await wsHandler(server).upgrade(asked)).toMatchObject({ status: 403 });
    expect(ran()).toBe(0);
  });
});

test("the same requests pass for allowed origins", async () => {
  const { port, otherPort, ran } = await everyDoor();
  const body = request("echo", ["mine"]);
  const own = { ...json, host: `localhost:${port}`, origin: `http://localhost:${port}` };
  expect((await send(port, { headers: own, body })).status).toBe(200);
  expect((await send(otherPort, { body, path: "/" })).status).toBe(200);
  expect((await send(port, { method: "GET", path: "/playground/", headers: {} })).text).toBe(
    "page",
  );
  expect(await statusOfUpgrade(port, {})).toBe(101);
  expect(await statusOfUpgrade(otherPort, {})).toBe(101);
  expect(ran()).toBe(3);
});
