import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { healthChecks } from "callwire/observability";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { deferred } from "../transports/contract/wire.ts";

async function probed(ready: ReturnType<typeof healthChecks>): Promise<[number, unknown]> {
  await using server = createServer({});
  const http = await serveHttp(server, { port: 0, ready });
  const response = await fetch(new URL("/readyz", http.url));
  return [response.status, await response.json()];
}

test("a server without checks is ready", async () => {
  await using server = createServer({});
  const http = await serveHttp(server, { port: 0 });
  const response = await fetch(new URL("/readyz", http.url));
  expect([response.status, await response.text()]).toEqual([200, '{"status":"ready"}']);
});

test("all checks must hold", async () => {
  const checks = { database: async () => "fine", cache: () => true };
  expect(await probed(healthChecks(checks))).toEqual([
    200,
    { status: "ready", checks: { database: "ok", cache: "ok" } },
  ]);
});

test("one that throws, rejects or returns false fails the whole, and the answer has no reason", async () => {
  const ready = healthChecks({
    throws: () => {
      throw new Error("password is hunter2");
    },
    rejects: () => Promise.reject(new Error("10.0.0.1 is gone")),
    denies: async () => false,
    holds: () => {},
  });
  expect(await probed(ready)).toEqual([
    503,
    {
      status: "not ready",
      checks: { throws: "failed", rejects: "failed", denies: "failed", holds: "ok" },
    },
  ]);
});

test("one that hangs times out, and is reported", async () => {
  const clock = new FakeClock();
  let given: AbortSignal | undefined;
  const ready = healthChecks(
    {
      hangs: (signal) => {
        given = signal;
        return new Promise(() => {});
      },
    },
    { timeoutMs: 100, clock },
  );
  const health = ready();
  await Promise.resolve();
  clock.advance(100);
  expect(await health).toEqual({ ok: false, checks: { hangs: "timed out" } });
  expect(given?.aborted).toBe(true);
});

test("a slow check does not run twice at the same time, and its answer counts from its arrival", async () => {
  const clock = new FakeClock();
  const { promise: gate, resolve: open } = deferred();
  let runs = 0;
  const slow = () => {
    runs++;
    return gate;
  };
  const ready = healthChecks({ slow }, { clock, cacheMs: 1000, timeoutMs: 10_000 });
  const probes = [ready()];
  clock.advance(5000);
  probes.push(ready());
  open();
  await Promise.all(probes);
  clock.advance(999);
  await ready();
  expect(runs).toBe(1);
  clock.advance(1);
  await ready();
  expect(runs).toBe(2);
});

test("many probes at a time run the checks once", async () => {
  const clock = new FakeClock();
  let runs = 0;
  const ready = healthChecks({ count: () => runs++ }, { clock, cacheMs: 1000 });
  await Promise.all([ready(), ready(), ready()]);
  expect(runs).toBe(1);
  clock.advance(1000);
  await ready();
  expect(runs).toBe(2);
});
