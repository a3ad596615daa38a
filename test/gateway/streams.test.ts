/** What happens to a stream between its producer and a caller that does not, or cannot, read it. */
import { createClient, ErrorCode, type Methods, method, stream, WireError } from "callwire";
import type { Gateway } from "callwire/gateway";
import { natsLink, serveNats } from "callwire/nats";
import { serveSocket, tcpLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { describeWith } from "../services.ts";
import { deferred } from "../transports/contract/wire.ts";
import { turn } from "../transports/contract-methods.ts";
import { TestNats } from "../transports/nats/test-nats.ts";
import { Behind, start } from "./behind.ts";

const routes = [{ method: "*", to: "all" }];

/** A client on a connection, which streams need. */
async function connected(gateway: Gateway) {
  const { port = 0 } = await serveSocket(gateway, { port: 0 });
  const client = createClient(tcpLink({ port }));
  onTestFinished(() => client.close());
  return client;
}

/** Counts until the reader stops. */
function endless(begun: () => void = () => {}) {
  return stream({}, async function* () {
    begun();
    for (let i = 0; ; i++) {
      yield i;
      await turn();
    }
  });
}

describe("a caller with too many streams", () => {
  const full = { limits: { maxStreams: 1 } };

  async function runsOfTheSecond(discover?: false): Promise<unknown> {
    const runs: string[] = [];
    const servers = await Promise.all(
      ["a", "b", "c"].map((name) => Behind.start({ count: endless(() => void runs.push(name)) })),
    );
    const targets = Object.fromEntries(servers.map((server, i) => [`${i}`, () => server.link()]));
    const described = discover === undefined ? {} : { discover };
    const gateway = await start(
      { upstreams: { all: { targets } }, routes },
      { ...full, ...described },
    );
    const client = await connected(gateway);
    const first = client.stream("count")[Symbol.asyncIterator]();
    await first.next();
    runs.length = 0;
    const second = client.stream("count")[Symbol.asyncIterator]();
    const error = await second.next().catch((error: unknown) => error);
    return { runs: runs.length, error };
  }

  test("is refused another before it runs", async () => {
    const error = { code: ErrorCode.ServerBusy, data: { ran: false, reason: "busy" } };
    expect(await runsOfTheSecond()).toMatchObject({ runs: 0, error });
  });

  test("runs at most once if it is not known to stream, and the caller gets an error that says that it ran", async () => {
    const data = { ran: true, reason: "busy" };
    const error = { code: ErrorCode.ServerBusy, data };
    expect(await runsOfTheSecond(false)).toMatchObject({ runs: 1, error });
  });
});

describeWith(["nats-server"], "a caller on NATS", () => {
  async function onNats(methods: Methods) {
    const testNats = await TestNats.start("max_payload: 64KB");
    const behind = await Behind.start(methods);
    const gateway = await start({
      upstreams: { all: { targets: { one: () => behind.link() } } },
      routes,
    });
    await serveNats(gateway, await testNats.connect(), { subject: "test" });
    return createClient(natsLink(await testNats.connect(), { subject: "test" }));
  }
  const tooLarge = { code: ErrorCode.ReplyTooLarge };

  test("gets an error for an item that is too long for its wire, and the producer is stopped", async () => {
    const stopped = deferred();
    const client = await onNats({
      items: stream({}, async function* () {
        try {
          yield "short";
          yield "x".repeat(100_000);
          for (;;) yield await turn();
        } finally {
          stopped.resolve();
        }
      }),
    });
    const got: unknown[] = [];
    const reading = async () => {
      for await (const item of client.stream("items")) got.push(item);
    };
    await expect(reading()).rejects.toMatchObject(tooLarge);
    expect(got).toEqual(["short"]);
    await stopped.promise;
  });

  test("gets an error for progress that is too long for its wire", async () => {
    const client = await onNats({
      work: method({}, (_, call) => {
        call.progress("x".repeat(100_000));
        return new Promise(() => {});
      }),
    });
    await expect(client.call("work")).rejects.toMatchObject(tooLarge);
  });
});

test("a producer that ignores credit is stopped before its long items fill memory", async () => {
  const long = "x".repeat(100_000);
  const stopped = deferred<number>();
  const behind = await Behind.start({
    flood: method({}, async (_, { id, peer, signal }) => {
      let sent = 0;
      for (; sent < 1_000 && !signal.aborted; sent++) {
        peer.notify("$/stream", { id, value: long });
        await turn();
      }
      stopped.resolve(sent);
    }),
  });
  const gateway = await start({
    upstreams: { all: { targets: { one: () => behind.link() }, healthCheck: false } },
    routes,
  });
  const client = await connected(gateway);
  const items = client.stream("flood")[Symbol.asyncIterator]();
  expect(await items.next()).toMatchObject({ value: long });
  expect(await stopped.promise).toBeLessThan(1_000);
  const rest = async () => {
    while ((await items.next()).done !== true);
  };
  await expect(rest()).rejects.toMatchObject({ code: ErrorCode.InternalError });
});

/** A target that loses calls, and a gateway that no longer uses it because of that. */
async function leftAlone(methods: Methods) {
  const behind = await Behind.start(methods);
  let isLost = false;
  const clock = new FakeClock();
  const gateway = await start(
    {
      upstreams: {
        all: {
          required: true,
          healthCheck: false,
          targets: {
            one: () => {
              const link = behind.link();
              const lost = () => Promise.reject(new WireError("CONNECTION_LOST", "it broke"));
              return {
                send: (request, outgoing) => (isLost ? lost() : link.send(request, outgoing)),
                sendBatch: (requests, outgoing) => link.sendBatch(requests, outgoing),
                close: () => link.close(),
              };
            },
          },
        },
      },
      routes,
    },
    { clock },
  );
  const client = await connected(gateway);
  isLost = true;
  for (let i = 0; i < 5; i++) await expect(client.call("ping")).rejects.toThrow("Upstream failed");
  expect(gateway.readiness().ok).toBe(false);
  isLost = false;
  return { gateway, client, clock };
}

test("a stream that tries a target which failed makes way for others with its first item", async () => {
  const { gateway, client, clock } = await leftAlone({ count: endless(), ping: () => "pong" });
  clock.advance(5_000);
  const trial = client.stream("count")[Symbol.asyncIterator]();
  expect(await trial.next()).toMatchObject({ value: 0 });
  expect(await client.call("ping")).toBe("pong");
  expect(gateway.readiness().ok).toBe(true);
});

test("a stream without items for long does not block others", async () => {
  const begun = deferred<void>();
  const quiet = stream({}, async function* (_, { signal }) {
    begun.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  const { client, clock } = await leftAlone({ quiet, ping: () => "pong" });
  clock.advance(100);
  const trial = client.stream("quiet")[Symbol.asyncIterator]();
  const first = trial.next();
  await begun.promise;
  await expect(client.call("ping")).rejects.toMatchObject({ code: -32009 });
  clock.advance(100);
  expect(await client.call("ping")).toBe("pong");
  await trial.return?.();
  await first;
});

describe("the time of a stream", () => {
  test.each([
    ["the gateway's", { timeoutMs: 50 }, {}, {}],
    ["that of its route", {}, { timeoutMs: 50 }, {}],
    ["the gateway's, where its caller has more", { timeoutMs: 50 }, {}, { timeoutMs: 30_000 }],
  ])("is not %s", async (_, options, route, asked) => {
    const clock = new FakeClock();
    const late = stream({}, async function* (_, call) {
      for (let i = 0; i < 3; i++) {
        clock.advance(1_000);
        // Otherwise the gateway would send a cancel.
        for (let turns = 0; turns < 10; turns++) await turn();
        if (call.signal.aborted) return;
        yield i;
      }
    });
    const behind = await Behind.start({ late }, { clock });
    const upstreams = { all: { targets: { one: () => behind.link() } } };
    const config = { upstreams, routes: routes.map((each) => ({ ...each, ...route })) };
    const client = await connected(await start(config, { clock, ...options }));
    const got: unknown[] = [];
    for await (const item of client.stream("late", undefined, asked)) got.push(item);
    expect(got).toEqual([0, 1, 2]);
  });
});
