import { createClient, createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { healthChecks } from "callwire/observability";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { expect, test } from "vitest";
import { deferred } from "../transports/contract/wire.ts";

// Timers treat a delay that is too long for them as none.
const month = 31 * 24 * 3_600_000;

test.each([month, Number.POSITIVE_INFINITY])(
  "a time of %s ms is waited for, and not over at once",
  async (longMs) => {
    const begun = deferred();
    const gate = deferred<string>();
    const checked = deferred<boolean>();
    const methods = {
      wait: () => {
        begun.resolve();
        return gate.promise;
      },
      long: () => "x".repeat(100_000),
    };
    const server = createServer(methods);
    const ready = healthChecks({ slow: () => checked.promise }, { timeoutMs: longMs });
    const http = await serveHttp(server, { port: 0, ready, writeTimeoutMs: longMs });
    const socket = await serveSocket(server, { port: 0 });
    const options = { connectTimeoutMs: longMs, reconnect: false } as const;
    const tcp = createClient<typeof methods>(tcpLink({ port: socket.port as number, ...options }));
    const ws = createClient<typeof methods>(webSocketLink(http.url, options));
    expect(await tcp.call("long")).toHaveLength(100_000);
    const waiting = ws.call("wait");
    const probe = fetch(new URL("/readyz", http.url));
    const long = await fetch(http.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"jsonrpc":"2.0","method":"long","id":1}',
    });
    expect((await long.text()).length).toBeGreaterThan(100_000);
    await begun.promise;
    checked.resolve(true);
    expect((await probe).status).toBe(200);
    const closing = server.close({ drainMs: longMs });
    expect((await fetch(new URL("/healthz", http.url))).status).toBe(200);
    gate.resolve("done");
    expect(await waiting).toBe("done");
    await closing;
    await Promise.all([tcp.close(), ws.close()]);
  },
);
