import { createClient, createServer } from "callwire";
import { fetchHandler, httpLink } from "callwire/http";
import { bearer, rateLimit, secureDefaults } from "callwire/security";
import { Hono } from "hono";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { RecordingLog, requestText } from "../server/asking.ts";

const echo = { echo: (value: unknown) => value };

function post(headers: Record<string, string> = {}): Request {
  return new Request("http://localhost/rpc", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: requestText("echo", [1]),
  });
}

function guarded(): { handle: ReturnType<typeof fetchHandler>; log: RecordingLog } {
  const log = new RecordingLog();
  const use = [rateLimit({ capacity: 2, perSecond: 0.001 })];
  return { handle: fetchHandler(createServer(echo, { use, log })), log };
}

const bunServer = { requestIP: () => ({ address: "192.0.2.1" }) };

// Without an address no limit applied, and no log line said so.
describe("a limit per address under fetchHandler", () => {
  test.each([
    ["Deno", [{ remoteAddr: { hostname: "192.0.2.1", port: 50_000 } }]],
    ["Bun", [bunServer]],
    ["a framework on Bun", [{ server: bunServer }]],
    ["Hono on Node", [{ incoming: { socket: { remoteAddress: "192.0.2.1" } } }]],
  ])("holds on %s", async (_, given) => {
    const { handle, log } = guarded();
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) statuses.push((await handle(post(), ...given)).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect(log.entries).toEqual([]);
  });

  test("applies on Workers, without use of their bindings", async () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    onTestFinished(() => void vi.unstubAllGlobals());
    const { handle } = guarded();
    const bindings = {
      get server(): never {
        throw new Error("a binding was used");
      },
    };
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) {
      const request = post({ "cf-connecting-ip": "192.0.2.1" });
      statuses.push((await handle(request, bindings)).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  test("is not forged with the header of Workers elsewhere", async () => {
    const { handle, log } = guarded();
    expect((await handle(post({ "cf-connecting-ip": "192.0.2.1" }))).status).toBe(200);
    expect(log.entries).toHaveLength(1);
  });

  test("is reported once as missing if there is no address", async () => {
    const { handle, log } = guarded();
    for (let i = 0; i < 4; i++) expect((await handle(post())).status).toBe(200);
    expect(log.entries).toMatchObject([
      { level: "warn", message: expect.stringContaining("not limited by address") },
    ]);
  });

  test("is part of secureDefaults in Hono, also for calls without a credential", async () => {
    const credentials = bearer(() => undefined);
    const perAddress = { capacity: 2, perSecond: 0.001 };
    const handle = fetchHandler(
      createServer(echo, secureDefaults({ credentials, perAddress, audit: () => {} })),
    );
    const app = new Hono();
    app.all("/rpc", (c) => handle(c.req.raw, c.env));
    const environment = { incoming: { socket: { remoteAddress: "192.0.2.1" } } };
    const link = httpLink("http://localhost/rpc", {
      fetch: async (url, init) => app.request(url, init, environment),
    });
    const client = createClient(link);
    const codes: unknown[] = [];
    for (let i = 0; i < 3; i++) codes.push(await client.call("echo").catch(({ code }) => code));
    expect(codes).toEqual([-32001, -32001, -32010]);
  });
});
