import { createServer as createHttpServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createNetServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import {
  createClient,
  createServer,
  type ErrorObject,
  exchangeLink,
  failure,
  type Link,
  method,
  silentLog,
  success,
  WireError,
} from "callwire";
import type { Gateway, UpstreamConfig } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Behaviour, type Carried, HandLink } from "../client/hand-link.ts";
import { startProxy } from "../transports/contract.ts";
import { turn } from "../transports/contract-methods.ts";
import { Behind, clientOf, start } from "./behind.ts";

async function three(options: { idempotent?: boolean } = {}) {
  const counts = [0, 0, 0];
  const servers = await Promise.all(
    counts.map((_, i) =>
      Behind.start({
        who: method(options, () => {
          counts[i] = (counts[i] ?? 0) + 1;
          return i;
        }),
      }),
    ),
  );
  const targets = Object.fromEntries(servers.map((server, i) => [`t${i}`, () => server.link()]));
  return { counts, servers, targets };
}

const routes = [{ method: "*", to: "all" }];

/** A link that does not report when its connection is lost. */
function withoutStates(link: Link): Link {
  return {
    send: (request, outgoing) => link.send(request, outgoing),
    sendBatch: (requests, outgoing) => link.sendBatch(requests, outgoing),
    close: () => link.close(),
  };
}

describe("balance", () => {
  test("calls go to the targets in turn", async () => {
    const { targets, counts } = await three();
    const client = clientOf(await start({ upstreams: { all: { targets } }, routes }));
    for (let i = 0; i < 30; i++) await client.call("who");
    expect(counts).toEqual([10, 10, 10]);
  });

  test("a slow target gets fewer calls where those in progress are counted", async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow = await Behind.start({ who: () => held.then(() => "slow") });
    const quick = await Behind.start({ who: () => "quick" });
    const gateway = await start({
      upstreams: {
        all: {
          targets: { slow: () => slow.link(), quick: () => quick.link() },
          balance: "least-in-flight",
        },
      },
      routes,
    });
    const client = clientOf(gateway);
    const first = Promise.all([client.call("who"), client.call("who")]);
    for (let i = 0; i < 10; i++) expect(await client.call("who")).toBe("quick");
    release();
    expect((await first).sort()).toEqual(["quick", "slow"]);
  });

  test("a key keeps its target, and moves only when the target is gone", async () => {
    const { targets, servers } = await three();
    const key = ({ params }: { params?: unknown }) => String((params as unknown[])[0]);
    const gateway = await start({ upstreams: { all: { targets, balance: { key } } }, routes });
    const client = clientOf(gateway);
    const ask = async () =>
      Promise.all(Array.from({ length: 60 }, (_, i) => client.call<number>("who", [`user ${i}`])));
    const before = await ask();
    expect(new Set(before)).toEqual(new Set([0, 1, 2]));
    expect(await ask()).toEqual(before);
    await servers[0]?.stop();
    const after = await ask();
    for (const [i, target] of before.entries()) {
      if (target === 0) expect(after[i]).not.toBe(0);
      else expect(after[i]).toBe(target);
    }
  });
});

describe("failures", () => {
  test("the error for a reply that is too large does not say that the call did not run", async () => {
    const runs: number[] = [];
    const behind = await Behind.start({ long: () => "x".repeat(runs.push(1) * 5_000) });
    const limits = { maxMessageBytes: 100, maxReplyLength: 100 };
    const targets = { one: () => tcpLink({ port: behind.port, limits }) };
    const client = clientOf(await start({ upstreams: { all: { targets } }, routes }));
    await expect(client.call("long")).rejects.toMatchObject({
      code: -32009,
      data: { ran: "unknown", reason: "too-large" },
    });
    expect(runs).toHaveLength(1);
  });

  test("a call that did not run goes to the next target, whatever it does", async () => {
    const { targets, servers, counts } = await three();
    const gateway = await start({ upstreams: { all: { targets } }, routes });
    const client = clientOf(gateway);
    await servers[0]?.stop();
    await servers[1]?.stop();
    for (let i = 0; i < 10; i++) expect(await client.call("who")).toBe(2);
    expect(counts).toEqual([0, 0, 10]);
  });

  test.each([true, false])(
    "a call whose connection broke is tried again only if it is idempotent: %s",
    async (idempotent) => {
      let started = (): void => {};
      const running = new Promise<void>((resolve) => {
        started = resolve;
      });
      const dying = await Behind.start({
        who: method({ idempotent }, () => {
          started();
          return new Promise<string>(() => {});
        }),
      });
      const proxy = await startProxy({ port: dying.port });
      const other = await Behind.start({ who: method({ idempotent }, () => "other") });
      const gateway = await start({
        upstreams: {
          all: {
            targets: {
              dying: () => tcpLink({ port: proxy.port, reconnect: { attempts: 0 } }),
              other: () => other.link(),
            },
          },
        },
        routes,
      });
      const client = clientOf(gateway);
      const calls = [client.call("who"), client.call("who")];
      await running;
      proxy.close();
      const outcomes = await Promise.allSettled(calls);
      expect(outcomes).toContainEqual({ status: "fulfilled", value: "other" });
      const rejected = outcomes.filter(({ status }) => status === "rejected");
      expect(rejected).toHaveLength(idempotent ? 0 : 1);
      if (!idempotent) {
        expect(rejected[0]).toMatchObject({
          reason: { code: -32009, data: { ran: "unknown", reason: "connection-lost" } },
        });
      }
    },
  );

  test("a target that fails repeatedly is not used for a while", async () => {
    const clock = new FakeClock();
    const behind = await Behind.start({ who: () => "here" });
    let attempts = 0;
    const gateway = await start(
      {
        upstreams: {
          all: {
            targets: {
              one: () => {
                const link = behind.link();
                return {
                  ...link,
                  send: (request, outgoing) => {
                    attempts++;
                    return link.send(request, outgoing);
                  },
                  sendBatch: (requests, outgoing) => link.sendBatch(requests, outgoing),
                  close: () => link.close(),
                };
              },
            },
            healthCheck: false,
            circuitBreaker: { failures: 3, coolDownMs: 1_000 },
          },
        },
        routes,
      },
      { clock, discover: false },
    );
    const client = clientOf(gateway);
    expect(await client.call("who")).toBe("here");
    await behind.stop();
    for (let i = 0; i < 10; i++) {
      await expect(client.call("who")).rejects.toMatchObject({ code: -32009 });
    }
    expect(attempts).toBe(1 + 3);
    // The pauses before one call may try: a tenth of the longest, then twice as long each time.
    for (const ms of [100, 200, 400, 800, 1_000]) {
      const before = attempts;
      for (const step of [ms - 1, 1]) {
        expect(attempts).toBe(before);
        clock.advance(step);
        await expect(client.call("who")).rejects.toMatchObject({ code: -32009 });
      }
      expect(attempts).toBe(before + 1);
    }
    await behind.start();
    await expect(client.call("who")).rejects.toMatchObject({
      data: { ran: false, reason: "unavailable" },
    });
    clock.advance(1_000);
    expect(await client.call("who")).toBe("here");
  });

  test("a target that takes too long fails too, unless the caller's own time was short", async () => {
    const clock = new FakeClock();
    const behind = await Behind.start({ hang: () => new Promise(() => {}) });
    const circuitBreaker = { failures: 3, coolDownMs: 60_000 };
    const gateway = await start(
      {
        upstreams: {
          all: { targets: { one: () => behind.link() }, circuitBreaker, healthCheck: false },
        },
        routes: [{ method: "*", to: "all", timeoutMs: 5_000 }],
      },
      { clock },
    );
    const ask = async (timeoutMs?: number) => {
      const reply = gateway.receive(
        JSON.stringify({ jsonrpc: "2.0", method: "hang", id: 1, timeoutMs }),
      );
      clock.advance(5_020);
      const { error } = JSON.parse((await reply) as string);
      // The caller is answered first, then the failure of the target is counted.
      await new Promise((resolve) => setImmediate(resolve));
      return error;
    };
    for (let i = 0; i < 5; i++) expect(await ask(100)).toMatchObject({ code: -32003 });
    for (let i = 0; i < 3; i++) expect(await ask()).toMatchObject({ code: -32003 });
    await expect(clientOf(gateway).call("hang")).rejects.toMatchObject({ code: -32009 });
  });

  test("a target that does not answer health checks gets no calls until it does", async () => {
    const clock = new FakeClock();
    const one = await Behind.start({ who: () => "one" });
    const two = await Behind.start({ who: () => "two" });
    const gateway = await start(
      {
        upstreams: {
          all: {
            targets: { one: () => withoutStates(one.link()), two: () => two.link() },
          },
        },
        routes,
      },
      { clock, log: { debug() {}, info() {}, warn: (_, message) => told(message), error() {} } },
    );
    const heard: string[] = [];
    let told = (message: string): void => void heard.push(message);
    const next = () =>
      new Promise<string>((resolve) => {
        told = resolve;
      });
    await one.stop();
    const gone = next();
    clock.advance(10_000);
    expect(await gone).toBe("a target is not available");
    const client = clientOf(gateway);
    for (let i = 0; i < 4; i++) expect(await client.call("who")).toBe("two");
    await one.start();
    const back = next();
    // A target that is away is checked more often.
    await clock.advance(1_000);
    expect(await back).toBe("a target is available again");
    const answers = new Set([await client.call("who"), await client.call("who")]);
    expect(answers).toEqual(new Set(["one", "two"]));
  });

  test("a lost connection is noticed before the next check, without a call", async () => {
    const clock = new FakeClock();
    const behind = await Behind.start({ who: () => "here" });
    let told = (_: string): void => {};
    const next = () =>
      new Promise<string>((resolve) => {
        told = resolve;
      });
    const log = { ...silentLog, warn: (_: object, message: string) => told(message) };
    const gateway = await start(
      { upstreams: { all: { targets: { one: () => behind.link() }, required: true } }, routes },
      { clock, log },
    );
    expect(gateway.readiness().ok).toBe(true);
    const gone = next();
    await behind.stop();
    expect(await gone).toBe("a target is not available");
    expect(gateway.readiness().ok).toBe(false);
    // A server that has just restarted gets calls at once.
    await behind.start();
    const back = next();
    expect(await clientOf(gateway).call("who")).toBe("here");
    expect(await back).toBe("a target is available again");
    expect(gateway.readiness().ok).toBe(true);
  });

  test("a call without a connection makes the gateway check its target, at most once a second", async () => {
    const clock = new FakeClock();
    let checks = 0;
    let failsChecks = true;
    const link: Link = {
      async send({ method }) {
        if (method !== "rpc.discover") throw new WireError("CONNECTION_FAILED", "no server");
        checks++;
        if (failsChecks && checks > 2) throw new WireError("CONNECTION_FAILED", "no server");
        return success({});
      },
      sendBatch: () => [],
      close: async () => {},
    };
    const upstream = (): UpstreamConfig => ({
      targets: { one: () => link },
      required: true,
      circuitBreaker: { failures: 1_000 },
    });
    const call = (gateway: Gateway) =>
      clientOf(gateway)
        .call("who")
        .catch(() => {});
    const gone = await start({ upstreams: { all: upstream() }, routes }, { clock });
    // A description and a check.
    expect([checks, gone.readiness().ok]).toEqual([2, true]);
    await call(gone);
    await turn();
    expect([checks, gone.readiness().ok]).toEqual([3, false]);
    await gone.close();

    failsChecks = false;
    const there = await start({ upstreams: { all: upstream() }, routes }, { clock });
    const begun = checks;
    for (let i = 0; i < 20; i++) await call(there);
    await turn();
    expect([checks, there.readiness().ok]).toEqual([begun + 1, true]);
    clock.advance(1_000);
    await call(there);
    await turn();
    expect(checks).toBe(begun + 2);
  });

  test("a target that starts after its gateway is found within a second", async () => {
    const clock = new FakeClock();
    const behind = await Behind.start({ who: () => "here" });
    await behind.stop();
    let told = (_: string): void => {};
    const log = { ...silentLog, warn: (_: object, message: string) => told(message) };
    const gateway = await start(
      { upstreams: { all: { targets: { one: () => behind.link() }, required: true } }, routes },
      { clock, log },
    );
    expect(gateway.readiness().ok).toBe(false);
    await behind.start();
    const back = new Promise<string>((resolve) => {
      told = resolve;
    });
    clock.advance(1_000);
    expect(await back).toBe("a target is available again");
    expect(gateway.readiness().ok).toBe(true);
  });

  test("a target that is not there at first is still called until ten seconds have passed", async () => {
    const clock = new FakeClock();
    let tried = 0;
    const link: Link = {
      send: async () => {
        tried++;
        throw new WireError("CONNECTION_FAILED", "nobody is there");
      },
      sendBatch: () => [],
      close: async () => {},
    };
    const gateway = await start(
      { upstreams: { all: { targets: { one: () => link } } }, routes },
      { clock },
    );
    const tries = async (): Promise<number> => {
      tried = 0;
      await expect(clientOf(gateway).call("who")).rejects.toMatchObject({ code: -32009 });
      return tried;
    };
    expect(await tries()).toBeGreaterThan(0);
    for (let second = 0; second < 10; second++) {
      clock.advance(1_000);
      await turn();
    }
    expect(await tries()).toBe(0);
  });

  test("a gateway stays ready without an upstream, unless that is required", async () => {
    const behind = await Behind.start({ who: () => "here" });
    const away = await Behind.start({});
    await away.stop();
    const upstreams = (required: boolean) => ({
      all: { targets: { one: () => behind.link() } },
      away: { targets: { one: () => away.link() }, required },
    });
    const both = [...routes, { method: "away/*", to: "away" }];
    for (const required of [false, true]) {
      const gateway = await start({ upstreams: upstreams(required), routes: both });
      expect(gateway.readiness()).toEqual({
        ok: !required,
        upstreams: { all: "ok", away: "no target answers" },
      });
      expect(await clientOf(gateway).call("who")).toBe("here");
    }
  });

  test("a target that failed too often does not keep its gateway unready forever", async () => {
    const clock = new FakeClock();
    const behind = await Behind.start({ who: () => "here" });
    const warned: unknown[] = [];
    const gateway = await start(
      {
        upstreams: {
          all: {
            targets: { one: () => behind.link() },
            required: true,
            healthCheck: false,
            circuitBreaker: { failures: 2, coolDownMs: 1_000 },
          },
          unused: {
            targets: { none: () => behind.link() },
            required: true,
            healthCheck: false,
          },
        },
        routes,
      },
      { clock, log: { ...silentLog, warn: (fields, message) => warned.push([message, fields]) } },
    );
    expect(gateway.readiness()).toEqual({ ok: true, upstreams: { all: "ok" } });
    await behind.stop();
    const client = clientOf(gateway);
    for (let i = 0; i < 4; i++) await client.call("who").catch(() => {});
    expect(gateway.readiness()).toEqual({ ok: false, upstreams: { all: "no target answers" } });
    expect(gateway.targets()[0]).toEqual({
      upstream: "all",
      target: "one",
      up: false,
      inFlight: 0,
      calls: 2,
      failures: 2,
    });
    // A gateway that is not ready gets no calls, so no call could find out that it is.
    clock.advance(1_000);
    expect(gateway.readiness().ok).toBe(true);
    await behind.start();
    expect(await client.call("who")).toBe("here");
    expect(warned).toEqual([
      [
        "a target is not available",
        { upstream: "all", target: "one", reason: expect.stringContaining("ECONNREFUSED") },
      ],
      ["a target is available again", { upstream: "all", target: "one" }],
    ]);
  });

  test("a server that stops passes the calls on that it no longer accepts", async () => {
    const stopping = createServer({ who: () => "stopping" });
    stopping.answerer.draining = true;
    const { port = 0 } = await serveSocket(stopping, { port: 0 });
    onTestFinished(() => stopping.close());
    const free = await Behind.start({ who: () => "free" });
    const gateway = await start({
      upstreams: {
        all: { targets: { stopping: () => tcpLink({ port }), free: () => free.link() } },
      },
      routes,
    });
    for (let i = 0; i < 4; i++) expect(await clientOf(gateway).call("who")).toBe("free");
  });

  test("a call that a stopping server refuses goes to one that was away a moment ago", async () => {
    const back = await Behind.start({ who: () => "back" });
    const stopping = createServer({ who: () => "stopping" });
    const { port = 0 } = await serveSocket(stopping, { port: 0 });
    onTestFinished(() => stopping.close());
    const all = {
      targets: { back: () => back.link(), stopping: () => tcpLink({ port }) },
      circuitBreaker: { failures: 1, coolDownMs: 600_000 },
    };
    const gateway = await start({ upstreams: { all }, routes });
    const client = clientOf(gateway);
    await back.stop();
    // Each target gets one of these, so the first is not used any more.
    for (let i = 0; i < 2; i++) expect(await client.call("who")).toBe("stopping");
    expect(gateway.targets()[0]).toMatchObject({ target: "back", up: false });
    await back.start();
    stopping.answerer.draining = true;
    for (let i = 0; i < 4; i++) expect(await client.call("who")).toBe("back");
  });

  /** A target that refuses each call in the same way, and counts the calls. */
  function refusing(error: { readonly code: number; readonly message: string }) {
    const refused = { calls: 0, link };
    function link(): Link {
      return exchangeLink(async (text) => {
        const { id, method } = JSON.parse(text);
        if (method === "who") refused.calls++;
        return JSON.stringify({ jsonrpc: "2.0", error, id });
      });
    }
    return refused;
  }

  test("if all servers stop, a call is not sent to them forever", async () => {
    const stopping = {
      code: -32006,
      message: "Server is shutting down",
      data: { ran: false, reason: "stopping" },
    };
    const [one, two] = [refusing(stopping), refusing(stopping)];
    const gateway = await start({
      upstreams: { all: { targets: { one: one.link, two: two.link } } },
      routes: [{ method: "*", to: "all", attempts: 100 }],
    });
    await expect(clientOf(gateway).call("who")).rejects.toMatchObject(stopping);
    expect([one.calls, two.calls].sort()).toEqual([1, 2]);
  });

  test("a call that one target refuses as busy does not go to a target with an open circuit", async () => {
    const away = await Behind.start({ who: () => "here" });
    const busy = { code: -32005, message: "Server busy", data: { ran: false, reason: "busy" } };
    const full = refusing(busy);
    const all = {
      targets: { away: () => away.link(), full: full.link },
      circuitBreaker: { failures: 1, coolDownMs: 600_000 },
    };
    const gateway = await start({ upstreams: { all }, routes });
    const client = clientOf(gateway);
    await away.stop();
    for (let i = 0; i < 2; i++) await expect(client.call("who")).rejects.toThrow();
    expect(gateway.targets()[0]).toMatchObject({ target: "away", up: false });
    await away.start();
    for (let i = 0; i < 4; i++) await expect(client.call("who")).rejects.toMatchObject(busy);
  });

  test("a call that a stopping server ended is not reported as one that did not run", async () => {
    const counts = { first: 0, second: 0 };
    const hang = (name: keyof typeof counts) => ({
      hang: () => {
        counts[name]++;
        started();
        return new Promise(() => {});
      },
    });
    let started = (): void => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const first = await Behind.start(hang("first"));
    const second = await Behind.start(hang("second"));
    const gateway = await start({
      upstreams: {
        all: { targets: { first: () => first.link(), second: () => second.link() } },
      },
      routes,
    });
    const refused = expect(clientOf(gateway).call("hang")).rejects.toMatchObject({ code: -32006 });
    await running;
    await Promise.all([first.stop(), second.stop()]);
    await refused;
    expect(counts.first + counts.second).toBe(1);
  });
});

describe("the retry rule behind a gateway", () => {
  /** A gateway to two targets; the behaviours are those of the first call that reaches either, and of the second. */
  async function gatewayTo(...behaviours: Behaviour[]) {
    const carried: Carried[] = [];
    const behaviour: Behaviour = (request, call) => {
      const turn = behaviours[carried.push(call) - 1];
      return turn?.(request, call);
    };
    const links = [new HandLink(behaviour), new HandLink(behaviour)] as const;
    const targets = { one: () => links[0], two: () => links[1] };
    const gateway = await start(
      {
        upstreams: { all: { targets, healthCheck: false } },
        routes: [{ method: "*", to: "all", idempotent: true }],
      },
      { discover: false },
    );
    return { gateway, carried };
  }

  const cutShort = failure({
    code: -32006,
    message: "Server is shutting down",
    data: { ran: true, reason: "stopping" },
  });

  test("an idempotent call that a stopping server ended goes to another target", async () => {
    const { gateway, carried } = await gatewayTo(
      () => cutShort,
      () => success("second"),
    );
    expect(await clientOf(gateway).call("who")).toBe("second");
    expect(carried).toHaveLength(2);
  });

  test("a stream that has begun does not, and its caller gets the error unchanged", async () => {
    const begin: Behaviour = (_, { outgoing }) => {
      outgoing.item(1, () => {});
      return cutShort;
    };
    const { gateway, carried } = await gatewayTo(begin, begin);
    const { port } = await serveSocket(gateway, { port: 0 });
    await using client = createClient(tcpLink({ port: port as number }));
    const items = client.stream("count")[Symbol.asyncIterator]();
    expect(await items.next()).toEqual({ done: false, value: 1 });
    await expect(items.next()).rejects.toMatchObject(cutShort.error as ErrorObject);
    expect(carried).toHaveLength(1);
  });

  test("a call that one target may have run is not reported as one that did not run", async () => {
    const lost: Behaviour = () => {
      throw new WireError("CONNECTION_LOST", "cut");
    };
    const busy: Behaviour = () =>
      failure({ code: -32005, message: "Server busy", data: { ran: false, reason: "busy" } });
    const { gateway, carried } = await gatewayTo(lost, busy);
    await expect(clientOf(gateway).call("who")).rejects.toMatchObject({
      code: -32009,
      data: { ran: "unknown", reason: "connection-lost" },
    });
    expect(carried).toHaveLength(2);
  });
});

/** The address of a server made with another library. */
async function foreign(answer: RequestListener): Promise<string> {
  const http = createHttpServer(answer);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void http.close());
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/there`;
}

test("the circuit of a target that has answered since does not open for calls lost before", async () => {
  const held: Socket[] = [];
  const url = await foreign(async (request, response) => {
    const { id, method } = JSON.parse(await text(request));
    if (method === "hang") held.push(request.socket);
    else response.end(JSON.stringify({ jsonrpc: "2.0", result: method, id }));
  });
  const all = { targets: { t: () => httpLink(url) }, circuitBreaker: { failures: 2 } };
  const client = clientOf(await start({ upstreams: { all }, routes }));
  const hanging = Promise.allSettled(Array.from({ length: 8 }, () => client.call("hang")));
  await expect.poll(() => held.length).toBe(8);
  expect(await client.call("who")).toBe("who");
  for (const socket of held) socket.destroy();
  for (const { status } of await hanging) expect(status).toBe("rejected");
  expect(await client.call("who")).toBe("who");
});

test("a target of version 1.0 is probed in 1.0, and asked for its document in 1.0", async () => {
  const methods = [{ name: "who", params: [] }];
  const document = { openrpc: "1.3.2", info: { title: "Old", version: "1" }, methods };
  const asked: unknown[] = [];
  const url = await foreign(async (request, response) => {
    const { id, ...rest } = JSON.parse(await text(request));
    asked.push(rest);
    if ("jsonrpc" in rest) request.socket.destroy();
    else response.end(JSON.stringify({ result: document, error: null, id }));
  });
  const targets = { t: () => httpLink(url) };
  const gateway = await start({ upstreams: { all: { targets, version: "1.0" } }, routes });
  expect(gateway.readiness()).toEqual({ ok: true, upstreams: { all: "ok" } });
  expect(await clientOf(gateway).call("rpc.discover")).toMatchObject({ methods });
  expect(asked).toEqual([
    { method: "rpc.discover", params: [] },
    { method: "rpc.discover", params: [] },
  ]);
});

test("a target of version 1.0 is available in whatever form it says that it lacks a method", async () => {
  const old = createNetServer((socket) => {
    createInterface(socket).on("line", (line) => {
      const { id } = JSON.parse(line);
      socket.write(`${JSON.stringify({ result: null, error: "no such method", id })}\n`);
    });
  });
  await new Promise<void>((resolve) => old.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void old.close());
  const { port } = old.address() as AddressInfo;
  const targets = { t: () => tcpLink({ port }) };
  const gateway = await start({ upstreams: { all: { targets, version: "1.0" } }, routes });
  expect(gateway.readiness()).toEqual({ ok: true, upstreams: { all: "ok" } });
  const error = { code: -32000, message: "no such method" };
  await expect(clientOf(gateway).call("who")).rejects.toMatchObject(error);
});

describe("a wrong path", () => {
  /** A server of callwire at another place, and one that is not a JSON-RPC server at all. */
  const nowhere = {
    "with a JSON-RPC body": async () => {
      const server = createServer({ who: () => "here" }, { log: silentLog });
      const { url } = await serveHttp(server, { port: 0 });
      onTestFinished(() => server.close({ drainMs: 0 }));
      return new URL("/wrong", url).href;
    },
    "with a page": () => foreign((_, response) => response.writeHead(404).end("<p>no</p>")),
  };

  test.each(Object.entries(nowhere))("that answers 404 %s is not a target", async (_, at) => {
    const url = await at();
    const warnings: unknown[] = [];
    const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) };
    const gateway = await start(
      { upstreams: { all: { targets: { t: () => httpLink(url) }, required: true } }, routes },
      { log },
    );
    expect(gateway.readiness()).toEqual({ ok: false, upstreams: { all: "no target answers" } });
    const reason = "there is no JSON-RPC endpoint at this path (HTTP 404)";
    expect(warnings).toEqual([{ upstream: "all", target: "t", reason }]);
    await expect(clientOf(gateway).call("who")).rejects.toMatchObject({
      code: -32009,
      data: { ran: false, reason: "unavailable" },
    });
  });

  test("is not meant by a foreign server that answers 404 for an unknown method", async () => {
    const url = await foreign(async (request, response) => {
      const { method, id } = JSON.parse(await text(request));
      const result = { jsonrpc: "2.0", result: "here", id };
      const error = { jsonrpc: "2.0", error: { code: -32601, message: "Method not found" }, id };
      if (method === "who") response.end(JSON.stringify(result));
      else response.writeHead(404).end(JSON.stringify(error));
    });
    const targets = { t: () => httpLink(url) };
    const gateway = await start({ upstreams: { all: { targets } }, routes });
    expect(gateway.readiness()).toEqual({ ok: true, upstreams: { all: "ok" } });
    const client = clientOf(gateway);
    expect(await client.call("who")).toBe("here");
    await expect(client.call("what")).rejects.toMatchObject({ code: -32601 });
  });

  test("is left for a target that is there", async () => {
    const wrong = await nowhere["with a JSON-RPC body"]();
    const right = await Behind.start({ who: () => "right" });
    const targets = { wrong: () => httpLink(wrong), right: () => right.link() };
    const gateway = await start({ upstreams: { all: { targets } }, routes });
    const client = clientOf(gateway);
    expect([await client.call("who"), await client.call("who")]).toEqual(["right", "right"]);
  });
});
