import { createClient, createServer } from "callwire";
import { fetchHandler, httpLink } from "callwire/http";
import { FakeClock } from "callwire/testing";
import { connectWebSocket } from "callwire/ws";
import { describe, expect, test } from "vitest";
import { RecordingLog, requestText } from "../server/asking.ts";
import { json, send, serve } from "../transports/http/wire.ts";

const body = requestText("echo", ["hi"]);
const echo = { echo: (value: unknown) => value };

describe("a request that is refused because of its Host or Origin", () => {
  test("names the host and the option, in the message that clients show", async () => {
    const handle = fetchHandler(createServer(echo, { log: new RecordingLog() }));
    const link = httpLink("http://app.example.com/rpc", {
      fetch: (url, init) => handle(new Request(url, init)),
    });
    await expect(createClient(link).call("echo", ["hi"])).rejects.toThrow(
      "this server does not serve the host name app.example.com; see the hosts option",
    );
  });

  test("is logged, at most once a minute", async () => {
    const log = new RecordingLog();
    const clock = new FakeClock();
    const http = await serve(echo, {}, { log, clock });
    const refused = async (headers: Record<string, string>): Promise<void> => {
      const { status } = await send(http.port, { headers: { ...json, ...headers }, body });
      expect(status).toBe(403);
    };
    await refused({ host: "app.example.com" });
    await refused({ host: "app.example.com" });
    await refused({ origin: "https://other.example" });
    clock.advance(60_000);
    await refused({ origin: "https://other.example" });
    const message = "request refused because of its Host or Origin header";
    expect(log.entries).toMatchObject([
      { level: "warn", message, fields: { host: "app.example.com", unlogged: 0 } },
      { level: "warn", message, fields: { origin: "https://other.example", unlogged: 2 } },
    ]);
  });

  test("is logged for WebSockets too, without more of a header than needed", async () => {
    const log = new RecordingLog();
    const http = await serve(echo, {}, { log });
    const origin = `https://${"x".repeat(500)}.example`;
    const opened = connectWebSocket(http.url, { headers: { origin } });
    await expect(opened).rejects.toMatchObject({ status: 403 });
    expect(log.entries).toHaveLength(1);
    expect(String(log.entries[0]?.fields.origin).length).toBeLessThan(200);
  });
});
