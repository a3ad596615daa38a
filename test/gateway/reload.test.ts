import {
  createServer,
  ErrorCode,
  exchangeLink,
  type Link,
  method,
  silentLog,
  WireError,
} from "callwire";
import type { Gateway, GatewayConfig, UpstreamConfig } from "callwire/gateway";
import type { OpenrpcDocument } from "callwire/openrpc";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { deferred } from "../transports/contract/wire.ts";
import { Behind, clientOf, start } from "./behind.ts";

/** An upstream with a method that returns its name, once it is released. */
function named(name: string, ready: () => Promise<unknown>): UpstreamConfig {
  const server = createServer({ [name]: () => name, who: () => name });
  const link = exchangeLink(async (text) => {
    await ready();
    return server.receive(text);
  });
  return { targets: { one: () => link }, healthCheck: false };
}

async function offeredBy(gateway: Gateway): Promise<string[]> {
  const { methods } = await clientOf(gateway).call<OpenrpcDocument>("rpc.discover");
  return methods.map(({ name }) => name);
}

test("a new config takes effect at once, and calls in progress finish where they are", async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let begun = (): void => {};
  const running = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const old = await Behind.start({
    who: method({ params: z.object({ wait: z.boolean() }) }, async ({ wait }) => {
      begun();
      if (wait) await held;
      return "old";
    }),
  });
  const fresh = await Behind.start({ who: () => "new" });
  const kept = await Behind.start({ still: () => "here" });
  let made = 0;
  const shared = {
    targets: {
      one: () => {
        made++;
        return kept.link();
      },
    },
  };
  const gateway = await start({
    upstreams: { main: { targets: { one: () => old.link() } }, shared },
    routes: [
      { method: "who", to: "main" },
      { method: "still", to: "shared" },
    ],
  });
  const client = clientOf(gateway);
  expect(await client.call("still")).toBe("here");
  const call = client.call("who", { wait: true });
  await running;
  await gateway.configure({
    upstreams: { main: { targets: { one: () => fresh.link() } }, shared },
    routes: [
      { method: "who", to: "main" },
      { method: "still", to: "shared" },
    ],
  });
  expect(await client.call("who")).toBe("new");
  release();
  expect(await call).toBe("old");
  // An upstream that both configs have keeps its connection.
  expect(await client.call("still")).toBe("here");
  expect(made).toBe(1);
});

test("a call that is about to try another target when the config changes finishes there", async () => {
  const tried = deferred();
  const away = deferred();
  const begun = [deferred(), deferred()];
  const gates = [deferred(), deferred()];
  let runs = 0;
  const other = await Behind.start({
    who: async () => {
      const run = runs++;
      begun[run]?.resolve();
      await gates[run]?.promise;
      return run;
    },
  });
  const absent = exchangeLink(async () => {
    tried.resolve();
    await away.promise;
    throw new WireError("CONNECTION_FAILED", "it is not there");
  });
  const targets = { absent: () => absent, other: () => other.link() };
  const balance = "least-in-flight";
  const configOf = (): GatewayConfig => ({
    upstreams: { all: { targets, balance, healthCheck: false } },
    routes: [{ method: "*", to: "all" }],
  });
  const gateway = await start(configOf(), { discover: false });
  const client = clientOf(gateway);
  // Each gets one.
  const calls = [client.call("who"), client.call("who")];
  await Promise.all([tried.promise, begun[0]?.promise]);
  await gateway.configure(configOf());
  gates[0]?.resolve();
  expect(await Promise.race(calls)).toBe(0);
  away.resolve();
  await begun[1]?.promise;
  gates[1]?.resolve();
  expect((await Promise.all(calls)).sort()).toEqual([0, 1]);
});

test("of two configs at the same time the last one is used, and the first leaves nothing open", async () => {
  const [one, two] = await Promise.all(
    ["one", "two"].map((who) => Behind.start({ who: () => who })),
  );
  const open = new Set<Link>();
  const asked = deferred();
  const gate = deferred();
  const to = (behind: Behind | undefined, before?: Promise<void>) => ({
    upstreams: {
      main: {
        targets: {
          one: (): Link => {
            const link = (behind as Behind).link();
            const counted: Link = {
              send: async (request, outgoing) => {
                if (before !== undefined) asked.resolve();
                await before;
                return link.send(request, outgoing);
              },
              sendBatch: (requests, outgoing) => link.sendBatch(requests, outgoing),
              close: () => {
                open.delete(counted);
                return link.close();
              },
            };
            open.add(counted);
            return counted;
          },
        },
      },
    },
    routes: [{ method: "*", to: "main" }],
  });
  const gateway = await start(to(one));
  const slow = gateway.configure(to(one, gate.promise));
  await asked.promise;
  const quick = gateway.configure(to(two));
  gate.resolve();
  await Promise.all([slow, quick]);
  expect(await clientOf(gateway).call("who")).toBe("two");
  await expect.poll(() => open.size).toBe(1);
});

test("calls in progress count for the limit of their route also under a new config", async () => {
  const begun = deferred();
  const gate = deferred<string>();
  const held = await Behind.start({
    hold: () => {
      begun.resolve();
      return gate.promise;
    },
  });
  const upstreams = { one: { targets: { one: () => held.link() } } };
  const configOf = (): GatewayConfig => ({
    upstreams,
    routes: [{ method: "hold", to: "one", maxInFlight: 1 }],
  });
  const gateway = await start(configOf());
  const client = clientOf(gateway);
  const call = client.call("hold");
  await begun.promise;
  await gateway.configure(configOf());
  await expect(client.call("hold")).rejects.toMatchObject({ code: ErrorCode.ServerBusy });
  gate.resolve("held");
  expect(await call).toBe("held");
  expect(await client.call("hold")).toBe("held");
});

test("a gateway that is closed takes no config, and opens nothing", async () => {
  const one = await Behind.start({ who: () => "one" });
  let opened = 0;
  const configOf = (): GatewayConfig => ({
    upstreams: {
      one: {
        targets: {
          one: () => {
            opened++;
            return one.link();
          },
        },
      },
    },
    routes: [{ method: "*", to: "one" }],
  });
  const gateway = await start(configOf());
  await gateway.close();
  await expect(gateway.configure(configOf())).rejects.toMatchObject({ code: "CLOSED" });
  expect(opened).toBe(1);
});

test("a config that cannot be used changes nothing", async () => {
  const one = await Behind.start({ who: () => "one" });
  const upstreams = { one: { targets: { one: () => one.link() } } };
  const routes = [{ method: "*", to: "one" }];
  const gateway = await start({ upstreams, routes, info: { title: "First" } });
  await expect(
    gateway.configure({
      upstreams,
      routes: [{ method: "*", to: "two" }],
      info: { title: "Second" },
    }),
  ).rejects.toThrow("not an upstream");
  const client = clientOf(gateway);
  expect(await client.call("who")).toBe("one");
  expect(await client.call("rpc.discover")).toMatchObject({ info: { title: "First" } });
});

test("a new config replaces the title", async () => {
  const one = await Behind.start({ who: () => "one" });
  const upstreams = { one: { targets: { one: () => one.link() } } };
  const routes = [{ method: "*", to: "one" }];
  const discover = { title: "Before", version: "1.0.0" };
  const gateway = await start({ upstreams, routes, info: { title: "First" } }, { discover });
  const info = async () => (await clientOf(gateway).call<OpenrpcDocument>("rpc.discover")).info;
  expect(await info()).toEqual({ title: "First", version: "1.0.0" });
  await gateway.configure({ upstreams, routes, info: { title: "Second", version: "2.0.0" } });
  expect(await info()).toEqual({ title: "Second", version: "2.0.0" });
  await gateway.configure({ upstreams, routes });
  expect(await info()).toEqual(discover);
});

test("an upstream that becomes available while another is asked for its document is described too", async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  const answered = deferred();
  let isThere = false;
  const absent = new WireError("CONNECTION_FAILED", "nobody is there");
  const late = named("late", async () => {
    if (!isThere) throw absent;
  });
  const starting = start(
    {
      upstreams: {
        slow: named("slow", () => answered.promise),
        late: { ...late, healthCheck: { everyMs: 10 } },
      },
      routes: [
        { method: "slow", to: "slow" },
        { method: "late", to: "late" },
      ],
    },
    { clock, log: { ...silentLog, warn: (_, message) => void told.push(message) } },
  );
  await expect.poll(() => told).toEqual(["a target is not available"]);
  isThere = true;
  const looked = (): readonly string[] => {
    clock.advance(10);
    return told;
  };
  await expect.poll(looked).toContain("a target is available again");
  answered.resolve();
  const gateway = await starting;
  await expect.poll(() => offeredBy(gateway)).toEqual(["late", "slow"]);
});

test.each([
  ["said before", true],
  ["says meanwhile", false],
])("what a shared upstream that does not answer a new config %s stays known", async (_, before) => {
  const clock = new FakeClock();
  let isThere = before;
  let refused = deferred();
  const late = named("late", async () => {
    if (isThere) return;
    refused.resolve();
    throw new WireError("CONNECTION_FAILED", "nobody is there");
  });
  let answered = deferred();
  const config = {
    upstreams: {
      slow: named("slow", () => answered.promise),
      late: { ...late, healthCheck: { everyMs: 10 } },
    },
    routes: [
      { method: "slow", to: "slow" },
      { method: "late", to: "late" },
    ],
  };
  answered.resolve();
  const gateway = await start(config, { clock });
  expect(await offeredBy(gateway)).toEqual(before ? ["late", "slow"] : ["slow"]);
  isThere = false;
  [answered, refused] = [deferred(), deferred()];
  const configured = gateway.configure(config);
  await refused.promise;
  if (!before) {
    isThere = true;
    const offered = (): Promise<string[]> => {
      clock.advance(10);
      return offeredBy(gateway);
    };
    await expect.poll(offered).toEqual(["late", "slow"]);
  }
  answered.resolve();
  await configured;
  expect(await offeredBy(gateway)).toEqual(["late", "slow"]);
});
