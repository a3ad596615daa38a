import {
  type Context,
  createClient,
  createServer,
  type Link,
  method,
  retry,
  type Server,
  type ServerOptions,
  silentLog,
  success,
  WireError,
} from "callwire";
import { memoryPair } from "callwire/connection";
import { createGateway } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { webSocketLink } from "callwire/ws";
import { afterEach, describe, expect, test, vi } from "vitest";
import { HandLink } from "../client/hand-link.ts";
import { deferred } from "../transports/contract/wire.ts";
import { turn } from "../transports/contract-methods.ts";

// Timeouts were measured by the time of day: setting the clock back kept calls forever, setting it
// forward ended them.

const start = 1_800_000_000_000;
const hourMs = 3_600_000;
const twoMinutesMs = 120_000;
const tickMs = 10;
const close: (() => unknown)[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(close.splice(0).map((end) => end()));
});

type Connect = (server: Server) => Link | Promise<Link>;

const wires: [string, Connect][] = [
  ["memory", (server) => memoryPair(server, undefined)[1]],
  [
    "TCP",
    async (server) => {
      const socket = await serveSocket(server, { port: 0 });
      close.push(() => socket.close());
      return tcpLink({ port: socket.port });
    },
  ],
  ["HTTP", async (server) => httpLink(await served(server))],
  ["WebSocket", async (server) => webSocketLink((await served(server)).replace("http", "ws"))],
];

async function served(server: Server): Promise<string> {
  const http = await serveHttp(server, { port: 0 });
  close.push(() => http.close());
  return http.url;
}

/** A method that reports when it has started, and ends when the test says so. */
function worker(options: ServerOptions) {
  const begun = deferred<Context>();
  const done = deferred<string>();
  const work = method({}, (_, call) => {
    begun.resolve(call);
    return done.promise;
  });
  const server = createServer({ work }, { log: silentLog, ...options });
  close.push(() => done.resolve("too late"));
  return { server, begun: begun.promise, done };
}

function clientOf(link: Link, clock: FakeClock, timeoutMs = Number.POSITIVE_INFINITY) {
  const client = createClient(link, { clock, timeoutMs });
  close.push(() => client.close());
  return client;
}

/** "open", or the code that the promise was rejected with. */
async function stateOf(call: Promise<unknown>): Promise<unknown> {
  const code = call.then(
    () => "answered",
    (error: { code?: unknown }) => error.code,
  );
  return Promise.race([code, turn().then(() => "open")]);
}

describe.each(wires)("over %s", (_, connect) => {
  test("a client's timeout fires although the clock is set back", async () => {
    const clock = new FakeClock(start);
    const { server, begun } = worker({ timeoutMs: Number.POSITIVE_INFINITY });
    const call = clientOf(await connect(server), clock, 500).call("work");
    await begun;
    clock.setTime(start - hourMs);
    clock.advance(499);
    expect(await stateOf(call)).toBe("open");
    clock.advance(1 + 2 * tickMs);
    expect(await stateOf(call)).toBe("TIMEOUT");
  });

  test("a client's timeout does not fire early if the clock is set forward", async () => {
    const clock = new FakeClock(start);
    const { server, begun, done } = worker({ timeoutMs: Number.POSITIVE_INFINITY });
    const call = clientOf(await connect(server), clock, 60_000).call("work");
    await begun;
    clock.setTime(start + twoMinutesMs);
    clock.advance(1_500);
    expect(await stateOf(call)).toBe("open");
    done.resolve("done");
    expect(await call).toBe("done");
  });

  const limits: [string, ServerOptions, { timeoutMs?: number }][] = [
    ["the server's own", { timeoutMs: 500 }, {}],
    ["a travelled", {}, { timeoutMs: 500 }],
  ];

  test.each(limits)("%s timeout fires although the clock is set back", async (_, own, given) => {
    const clock = new FakeClock(start);
    const { server, begun } = worker({ ...own, clock });
    // The caller's own clock stands still, so that only the server can end the call.
    const outcome = expect(
      clientOf(await connect(server), new FakeClock()).call("work", undefined, given),
    ).rejects.toMatchObject({ code: -32003 });
    const call = await begun;
    const { signal } = call;
    await turn();
    clock.setTime(start - hourMs);
    clock.advance(400);
    expect(signal.aborted).toBe(false);
    expect(Number(call.deadline) - clock.now()).toBe(100 + tickMs);
    clock.advance(100 + 2 * tickMs);
    expect(signal.aborted).toBe(true);
    await outcome;
  });

  test.each(limits)(
    "%s timeout comes no earlier because the clock is set forward",
    async (_, own, given) => {
      const clock = new FakeClock(start);
      const { server, begun, done } = worker({ ...own, clock });
      const link = await connect(server);
      const answer = clientOf(link, new FakeClock()).call("work", undefined, given);
      const call = await begun;
      await turn();
      clock.setTime(start + twoMinutesMs);
      clock.advance(400);
      expect(call.signal.aborted).toBe(false);
      expect(Number(call.deadline) - clock.now()).toBe(100 + tickMs);
      done.resolve("done");
      expect(await answer).toBe("done");
    },
  );

  test("the clock of the machine may be set too", async () => {
    const { server, begun } = worker({ timeoutMs: Number.POSITIVE_INFINITY });
    const client = createClient(await connect(server), { timeoutMs: 20 });
    close.push(() => client.close());
    const outcome = expect(client.call("work")).rejects.toMatchObject({ code: "TIMEOUT" });
    await Promise.race([begun, outcome]);
    const { now } = Date;
    vi.spyOn(Date, "now").mockImplementation(() => now() - hourMs);
    await outcome;
  });
});

describe.each([
  ["back", -hourMs],
  ["forward", twoMinutesMs],
])("when the clock is set %s", (_, stepMs) => {
  test("a call that is made for another gets the rest of its time", async () => {
    const clock = new FakeClock(start);
    const { server, begun } = worker({ clock, timeoutMs: 1_000 });
    void clientOf(memoryPair(server, undefined)[1], new FakeClock())
      .call("work")
      .catch(() => {});
    const call = await begun;
    await turn();
    clock.advance(400);
    clock.setTime(start + stepMs);
    const link = new HandLink(() => success("inner"));
    await createClient(link, { clock }).call("inner", undefined, { within: call });
    expect(link.calls[0]?.request.timeoutMs).toBe(600 + tickMs);
  });

  test("a retry has what is left of the time", async () => {
    const clock = new FakeClock(start);
    const link = new HandLink(() => {
      if (link.calls.length === 1) throw new WireError("CONNECTION_LOST", "no");
      return success("at last");
    });
    const client = createClient(link, { clock, use: [retry({ clock, random: () => 1 })] });
    const call = client.call("read", undefined, { idempotent: true, timeoutMs: 1_000 });
    await turn();
    clock.setTime(start + stepMs);
    clock.advance(100);
    expect(await call).toBe("at last");
    expect(link.calls[1]?.request.timeoutMs).toBe(900 + tickMs);
  });

  test("a gateway passes on what is left of the time", async () => {
    const clock = new FakeClock(start);
    const link = new HandLink(() => success("done"));
    const gateway = await createGateway(
      {
        upstreams: { workers: { targets: { one: () => link }, healthCheck: false } },
        routes: [{ method: "*", to: "workers" }],
      },
      {
        clock,
        log: silentLog,
        discover: false,
        use: [
          (next) => async (request, call) => {
            void call.deadline;
            clock.setTime(start + stepMs);
            clock.advance(400);
            return next(request, call);
          },
        ],
      },
    );
    close.push(() => gateway.close());
    const caller = clientOf(memoryPair(gateway, undefined)[1], new FakeClock());
    expect(await caller.call("work", undefined, { timeoutMs: 1_000 })).toBe("done");
    expect(link.calls[0]?.request.timeoutMs).toBe(600);
  });

  test("progress gives a call its whole time again, and no more", async () => {
    const clock = new FakeClock(start);
    const { server, begun } = worker({ clock });
    const client = clientOf(memoryPair(server, undefined)[1], clock);
    const heard = deferred();
    const options = { timeoutMs: 1_000, onProgress: () => heard.resolve() };
    const answer = client.call("work", undefined, options);
    answer.catch(() => {});
    const call = await begun;
    await turn();
    clock.advance(900);
    clock.setTime(start + stepMs);
    call.progress("alive");
    await heard.promise;
    clock.advance(990);
    expect(call.signal.aborted).toBe(false);
    expect(await stateOf(answer)).toBe("open");
    clock.advance(10 + 2 * tickMs);
    expect(call.signal.aborted).toBe(true);
    await expect(answer).rejects.toThrow();
  });
});
