import { createServer, silentLog } from "callwire";
import { describe, expect, test } from "vitest";
import { HostCheck } from "../../../src/protocol/host-check.ts";
import { add, json, RawClient, send, serve, sum } from "./wire.ts";

const methods = { add: (a: number, b: number) => a + b };

async function statuses(port: number, all: readonly Record<string, string>[]): Promise<number[]> {
  const answers = await Promise.all(
    all.map((headers) => send(port, { headers: { ...json, ...headers }, body: add })),
  );
  return answers.map(({ status }) => status);
}

describe("hosts", () => {
  test("loopback names are answered, with any port", async () => {
    const { port } = await serve(methods);
    const hosts = [
      "localhost",
      "LOCALHOST:1",
      "127.0.0.1",
      `127.0.0.1:${port}`,
      "[::1]",
      "[::1]:8",
    ];
    expect(
      await statuses(
        port,
        hosts.map((host) => ({ host })),
      ),
    ).toEqual(hosts.map(() => 200));
  });

  test("any other name is 403, and no handler runs", async () => {
    let calls = 0;
    const { port } = await serve({ add: () => ++calls });
    const hosts = [
      "evil.example",
      `evil.example:${port}`,
      "localhost.evil.example",
      "localhost@evil.example",
      "127.0.0.1.evil.example",
      "127.0.0.2",
      "localhost:80:80",
      "localhost:",
      "localhost:x",
    ];
    expect(
      await statuses(
        port,
        hosts.map((host) => ({ host })),
      ),
    ).toEqual(hosts.map(() => 403));
    expect(calls).toBe(0);
  });

  test("a refusal is a JSON-RPC error", async () => {
    const { port } = await serve(methods);
    const answer = await send(port, { headers: { ...json, host: "evil.example" }, body: add });
    expect(JSON.parse(answer.text)).toMatchObject({
      error: { code: -32600, data: expect.stringContaining("the host name evil.example") },
      id: null,
    });
  });

  test("listed names take the place of the loopback ones", async () => {
    const { port } = await serve(methods, { hosts: ["api.example", "other.example:81"] });
    const hosts = [
      "api.example",
      "API.example:8",
      "other.example:81",
      "other.example",
      "localhost",
    ];
    expect(
      await statuses(
        port,
        hosts.map((host) => ({ host })),
      ),
    ).toEqual([200, 200, 200, 403, 403]);
  });

  test("every host name can be allowed", async () => {
    const { port } = await serve(methods, { hosts: "any" });
    expect(await statuses(port, [{ host: "evil.example" }])).toEqual([200]);
  });

  test("the address that a server listens at is one of its names", () => {
    const access = new HostCheck(createServer({}, { log: silentLog }), {}, "10.0.0.7");
    const refusal = (host: string) => access.refusal({ host, origin: undefined, site: undefined });
    expect(refusal("10.0.0.7:8000")).toBeUndefined();
    expect(refusal("localhost")).toBeUndefined();
    expect(refusal("10.0.0.8")).toBeDefined();
  });

  test.each(["POST /rpc HTTP/1.0", "POST /rpc HTTP/1.1\r\nHost: "])(
    "a request that names no host, as %j, is 403",
    async (start) => {
      const { port } = await serve(methods);
      const client = new RawClient(port);
      client.write(
        `${start}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${add.length}\r\n\r\n${add}`,
      );
      expect(await client.all()).toMatch(/^HTTP\/1\.1 403 /);
    },
  );
});

describe("origins", () => {
  test("a page of another origin is 403, and no handler runs", async () => {
    let calls = 0;
    const { port } = await serve({ add: () => ++calls });
    const host = `localhost:${port}`;
    expect(
      await statuses(port, [
        { host, origin: "https://evil.example" },
        { host, origin: "null" },
        { host, origin: "http://localhost:1" },
        { host, origin: `http://${host}.evil.example` },
        { host, origin: `ftp://${host}` },
        { host, origin: host },
        { host, origin: "" },
        { host, "sec-fetch-site": "cross-site" },
        { host, "sec-fetch-site": "same-site" },
        { host, origin: `http://${host}`, "sec-fetch-site": "cross-site" },
      ]),
    ).toEqual(Array(10).fill(403));
    expect(calls).toBe(0);
  });

  test("a page of the server's own origin is answered", async () => {
    const { port } = await serve(methods);
    const host = `localhost:${port}`;
    const all = [
      { host, origin: `http://${host}` },
      { host, origin: `https://${host}`, "sec-fetch-site": "same-origin" },
      { host, "sec-fetch-site": "same-origin" },
      { host, "sec-fetch-site": "none" },
    ];
    expect(await statuses(port, all)).toEqual([200, 200, 200, 200]);
  });

  test("no CORS headers are sent unless an origin is listed", async () => {
    const { port } = await serve(methods);
    const headers = { ...json, host: `localhost:${port}`, origin: `http://localhost:${port}` };
    const answer = await send(port, { headers, body: add });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-"))).toEqual([]);
  });

  test("a page of a listed origin is answered and may read every answer", async () => {
    const { port } = await serve(methods, { origins: ["https://app.example"] });
    const origin = "https://app.example";
    const headers = { ...json, origin, "sec-fetch-site": "cross-site" };
    for (const [sent, status] of [
      [headers, 200],
      [{ ...headers, "content-type": "text/plain" }, 415],
    ] as const) {
      const answer = await send(port, { headers: sent, body: add });
      expect(answer.status).toBe(status);
      expect(answer.headers["access-control-allow-origin"]).toBe(origin);
      expect(answer.headers.vary).toBe("origin");
    }
    const other = await send(port, {
      headers: { ...json, origin: "https://b.example" },
      body: add,
    });
    expect(other.status).toBe(403);
    expect(other.headers["access-control-allow-origin"]).toBeUndefined();
  });

  test("a function may decide, but never for the origin null", async () => {
    const { port } = await serve(methods, { origins: (origin) => origin !== "https://b.example" });
    expect(
      await statuses(port, [
        { origin: "https://a.example" },
        { origin: "https://b.example" },
        { origin: "null" },
      ]),
    ).toEqual([200, 403, 403]);
  });

  test("a function that throws, or returns anything but true, allows no origin", async () => {
    const origins = (origin: string): boolean =>
      new URL(origin).hostname === "a.example" || (Promise.resolve(true) as never);
    const { port } = await serve(methods, { origins });
    expect(
      await statuses(port, [
        { origin: "https://a.example" },
        { origin: "https://b.example" },
        { origin: "no origin at all" },
      ]),
    ).toEqual([200, 403, 403]);
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nOrigin: none\r\n";
    const client = new RawClient(port);
    client.write(`GET /rpc HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n`);
    expect(await client.all()).toMatch(/^HTTP\/1.1 403/);
  });

  test("a preflight is answered for listed origins only", async () => {
    const { port } = await serve(methods, { origins: ["https://app.example"] });
    const ask = (origin: string) =>
      send(port, {
        method: "OPTIONS",
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type,x-key",
        },
      });
    const listed = await ask("https://app.example");
    expect(listed.status).toBe(204);
    expect(listed.headers).toMatchObject({
      "access-control-allow-origin": "https://app.example",
      "access-control-allow-methods": "POST, GET, DELETE",
      "access-control-allow-headers": "content-type,x-key",
      "access-control-max-age": "600",
      vary: "origin",
    });
    const other = await ask("https://evil.example");
    expect(other.status).toBe(204);
    expect(Object.keys(other.headers).filter((name) => name.startsWith("access-"))).toEqual([]);
  });

  test("two origins are refused", async () => {
    const { port } = await serve(methods, { origins: ["https://app.example"] });
    const origin = ["https://app.example", "https://evil.example"];
    const answer = await send(port, { headers: { ...json, origin }, body: add });
    expect(answer.status).toBe(400);
  });

  test("programs send no origin and are answered", async () => {
    const { port } = await serve(methods);
    expect((await send(port, { body: add })).text).toBe(sum);
  });
});
