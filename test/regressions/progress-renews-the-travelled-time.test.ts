import {
  type Context,
  createClient,
  createServer,
  type Link,
  method,
  type Service,
  silentLog,
} from "callwire";
import { createGateway } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { FakeClock } from "callwire/testing";
import { webSocketLink } from "callwire/ws";
import { afterEach, describe, expect, test } from "vitest";
import { deferred } from "../transports/contract/wire.ts";
import { turn } from "../transports/contract-methods.ts";

/** One call whose timeout travels with it, and on whose way all have the same clock. */
const timeoutMs = 1_000;
const close: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(close.splice(0).map((end) => end()));
});

type Connect = (url: string) => Link;

function workerOf(clock: FakeClock, limitMs?: number) {
  const begun = deferred<Context>();
  const done = deferred<string>();
  const server = createServer(
    {
      work: method(limitMs === undefined ? {} : { timeoutMs: limitMs }, (_, call) => {
        begun.resolve(call);
        return done.promise;
      }),
    },
    { clock, log: silentLog },
  );
  close.push(async () => done.resolve("too late"));
  return { server, begun: begun.promise, done };
}

async function served(service: Service, connect: Connect): Promise<Link> {
  const http = await serveHttp(service, { port: 0 });
  close.push(() => http.close());
  return connect(http.url);
}

/** A caller that awaits each report before it continues. */
function caller(link: Link, clock: FakeClock) {
  const client = createClient(link, { clock });
  close.push(() => client.close());
  let told = deferred<unknown>();
  const answer = client.call("work", {}, { timeoutMs, onProgress: (value) => told.resolve(value) });
  return {
    answer,
    async hears(call: Context, value: number) {
      told = deferred();
      call.progress(value);
      expect(await told.promise).toBe(value);
    },
  };
}

async function gatewayTo(link: Link, clock: FakeClock): Promise<Service> {
  const gateway = await createGateway(
    {
      upstreams: { workers: { targets: { one: () => link }, healthCheck: false } },
      routes: [{ method: "*", to: "workers" }],
    },
    { clock, log: silentLog, discover: false },
  );
  close.push(() => gateway.close());
  return gateway;
}

const wires: [string, Connect][] = [
  ["WebSocket", (url) => webSocketLink(url)],
  ["events over HTTP", (url) => httpLink(url)],
];

describe.each(wires)("over %s", (_, connect) => {
  test.each([false, true])("a call that reports outlasts its timeout (gateway: %s)", async (by) => {
    const clock = new FakeClock(1_000_000);
    const { server, begun, done } = workerOf(clock);
    const direct = await served(server, connect);
    const link = by ? await served(await gatewayTo(direct, clock), connect) : direct;
    const { answer, hears } = caller(link, clock);
    const call = await begun;
    for (let step = 1; step <= 5; step++) {
      clock.advance(900);
      await hears(call, step);
      expect(call.deadline).toBeGreaterThan(clock.now() + 900);
      expect(call.signal.aborted).toBe(false);
    }
    done.resolve("done");
    expect(await answer).toBe("done");
  });

  test("the server's own limit counts from the start", async () => {
    const clock = new FakeClock(1_000_000);
    const { server, begun } = workerOf(clock, 2_000);
    const { answer, hears } = caller(await served(server, connect), clock);
    const outcome = expect(answer).rejects.toMatchObject({ code: -32003 });
    const call = await begun;
    for (let step = 1; step <= 3; step++) {
      clock.advance(600);
      await hears(call, step);
    }
    expect(call.deadline).toBeLessThanOrEqual(1_002_010);
    clock.advance(220);
    await outcome;
    expect(call.signal.aborted).toBe(true);
  });

  test("a call that stops reporting is ended", async () => {
    const clock = new FakeClock(1_000_000);
    const { server, begun } = workerOf(clock);
    const { answer, hears } = caller(await served(server, connect), clock);
    // Which side reports it first depends on the wire.
    const outcome = expect(answer).rejects.toThrow();
    const call = await begun;
    clock.advance(900);
    await hears(call, 1);
    clock.advance(1_020);
    await outcome;
    while (!call.signal.aborted) await turn();
  });
});
