import { type Context, createClient, type Middleware, method, silentLog, stream } from "callwire";
import type { OpenrpcDocument } from "callwire/openrpc";
import { serveSocket, tcpLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { faultsOf } from "../openrpc/validity.ts";
import { startProxy } from "../transports/contract.ts";
import { Behind, clientOf, start } from "./behind.ts";

const Point = z.object({ x: z.number(), y: z.number() }).meta({ id: "Point" });
const Place = z.object({ city: z.string() }).meta({ id: "Point" });

async function upstreams() {
  const maps = await Behind.start({
    move: method(
      { summary: "Move a point", params: z.object({ to: Point }), result: Point },
      ({ to }) => to,
    ),
    walk: stream({ params: z.object({ to: Point }), item: Point }, async function* ({ to }) {
      yield to;
    }),
  });
  const cities = await Behind.start({
    find: method(
      { params: z.object({ at: Place }), result: Place, idempotent: true },
      ({ at }) => at,
    ),
    near: method({ params: z.object({ at: Place }), result: Place }, ({ at }) => at),
  });
  return {
    maps: { targets: { one: () => maps.link() } },
    cities: { targets: { one: () => cities.link() } },
  };
}

test("one document describes everything behind it, by the names it has here", async () => {
  const gateway = await start(
    {
      upstreams: await upstreams(),
      routes: [
        { method: "maps/*", to: "maps", rename: "*" },
        { method: "cities/find", to: "cities", rename: "find" },
      ],
    },
    { discover: { title: "Everything", version: "1.2.3" } },
  );
  const document = await clientOf(gateway).call<OpenrpcDocument>("rpc.discover");
  expect(faultsOf(document)).toEqual([]);
  expect(document.info).toEqual({ title: "Everything", version: "1.2.3" });
  expect(document.methods.map(({ name }) => name)).toEqual([
    "cities/find",
    "maps/move",
    "maps/walk",
  ]);
  // Two types of the same name stay apart, and each method refers to its own.
  const schemas = document.components?.schemas ?? {};
  expect(Object.keys(schemas)).toHaveLength(2);
  const find = document.methods.find(({ name }) => name === "cities/find");
  const place = JSON.stringify(find?.result).match(/schemas\/([^"]+)"/)?.[1] ?? "";
  expect(schemas[place]).toMatchObject({ properties: { city: { type: "string" } } });
  expect(gateway.isStream("maps/walk")).toBe(true);
  expect(gateway.isStream("maps/move")).toBe(false);
});

test("a caller that may not call a method does not see it, nor the types that only it uses", async () => {
  const hidden: Middleware = Object.assign((next: Parameters<Middleware>[0]) => next, {
    visible: (name: string, _: Context) => !name.startsWith("cities/"),
  });
  const gateway = await start(
    {
      upstreams: await upstreams(),
      routes: [
        { method: "maps/*", to: "maps", rename: "*" },
        { method: "cities/*", to: "cities", rename: "*" },
      ],
    },
    { use: [hidden] },
  );
  const document = await clientOf(gateway).call<OpenrpcDocument>("rpc.discover");
  expect(document.methods.map(({ name }) => name)).toEqual(["maps/move", "maps/walk"]);
  expect(JSON.stringify(document)).not.toContain("city");
});

test("upstreams may share a prefix if each describes its methods", async () => {
  const both = await upstreams();
  const routes = [
    { method: "*", to: "maps" },
    { method: "*", to: "cities" },
  ];
  const client = clientOf(await start({ upstreams: both, routes }));
  expect(await client.call("move", { to: { x: 1, y: 2 } })).toEqual({ x: 1, y: 2 });
  expect(await client.call("find", { at: { city: "Ulm" } })).toEqual({ city: "Ulm" });

  const twin = await Behind.start({ move: () => "elsewhere" });
  const clash = { ...both, cities: { targets: { one: () => twin.link() } } };
  await expect(start({ upstreams: clash, routes })).rejects.toThrow(
    '"move" is offered by the upstreams "maps" and "cities"',
  );
  const silent = await Behind.start({ other: () => 1 }, { discover: false });
  const unknown = { ...both, cities: { targets: { one: () => silent.link() } } };
  await expect(start({ upstreams: unknown, routes })).rejects.toThrow(
    '"cities" does not describe its methods',
  );
});

test("an upstream that is away when the gateway starts is called when it is back", async () => {
  const behind = await Behind.start({ who: () => "back" });
  await behind.stop();
  // After ten seconds it would wait for a health check to find the upstream.
  const clock = new FakeClock();
  const gateway = await start(
    {
      upstreams: { one: { targets: { one: () => behind.link() } } },
      routes: [{ method: "*", to: "one" }],
    },
    { clock },
  );
  const client = clientOf(gateway);
  await expect(client.call("who")).rejects.toMatchObject({ code: -32009 });
  await behind.start();
  expect(await client.call("who")).toBe("back");
});

describe("an upstream that shares a prefix with another and is away when the gateway starts", () => {
  async function halfThere(late: Behind, log = silentLog) {
    const there = await Behind.start({ move: () => "moved" });
    await late.stop();
    const link = (behind: Behind) => ({
      targets: { one: () => behind.link() },
      healthCheck: { everyMs: 10, timeoutMs: 30_000 },
    });
    const gateway = await start(
      {
        upstreams: { there: link(there), late: link(late) },
        routes: [
          { method: "*", to: "there" },
          { method: "*", to: "late" },
        ],
      },
      { log },
    );
    const client = clientOf(gateway);
    const names = async () =>
      (await client.call<OpenrpcDocument>("rpc.discover")).methods.map(({ name }) => name);
    return { client, names, there };
  }

  test("is described and called as soon as it is available", async () => {
    const late = await Behind.start({ find: method({ idempotent: true }, () => "found") });
    const { client, names } = await halfThere(late);
    expect(await names()).toEqual(["move"]);
    expect(await client.call("move")).toBe("moved");
    // Only the upstream whose methods are unknown can have it.
    await expect(client.call("find")).rejects.toMatchObject({ code: -32009 });
    await late.start();
    await expect.poll(names).toEqual(["find", "move"]);
    expect(await client.call("find")).toBe("found");
    expect(await client.call("move")).toBe("moved");
  });

  test("and then offers a method of another gets no calls of it, and the log says so", async () => {
    const late = await Behind.start({ move: () => "elsewhere", find: () => "found" });
    const said: unknown[] = [];
    const warn = (fields: object, message: string) => {
      if (message.includes("not routed")) said.push(fields);
    };
    const { client, names, there } = await halfThere(late, { ...silentLog, warn });
    await late.start();
    await expect.poll(names).toEqual(["find", "move"]);
    const told = { upstream: "late", reason: 'other upstreams have them already: "move" (there)' };
    expect(said).toEqual([told]);
    expect(await client.call("move")).toBe("moved");
    expect(await client.call("find")).toBe("found");
    // An upstream that has a name keeps it, even while it is away for some time.
    await there.stop();
    await expect(client.call("move")).rejects.toMatchObject({ code: -32009 });
    await there.start();
    await expect.poll(() => client.call("move").catch(() => undefined)).toBe("moved");
    expect(await names()).toEqual(["find", "move"]);
    expect(said).toEqual([told]);
  });
});

test.each([
  ["elsewhere", false],
  ["on a link that heals", true],
])("a stream that breaks is reported as run, and does not start again %s", async (_, reconnect) => {
  let begun = 0;
  const methods = {
    count: stream({ idempotent: true }, async function* () {
      begun++;
      yield 1;
      await new Promise(() => {});
    }),
  };
  const behind = await Behind.start(methods);
  const wires = await Promise.all([1, 2].map(() => startProxy({ port: behind.port })));
  for (const wire of wires) onTestFinished(() => wire.close());
  const targets = Object.fromEntries(
    wires.map(({ port }) => [port, () => tcpLink({ port, reconnect })]),
  );
  const gateway = await start({
    upstreams: { all: { targets } },
    routes: [{ method: "*", to: "all" }],
  });
  const { port } = await serveSocket(gateway, { port: 0 });
  await using client = createClient(tcpLink({ port: port as number }));
  const items = client.stream("count")[Symbol.asyncIterator]();
  expect(await items.next()).toMatchObject({ value: 1 });
  for (const wire of wires) wire.cut();
  await expect(items.next()).rejects.toMatchObject({
    code: -32009,
    data: { ran: "unknown", reason: "connection-lost" },
  });
  expect(begun).toBe(1);
});

test("names that callers make up behind a prefix are not methods if the upstream describes its own", async () => {
  const told = await Behind.start({ math: { add: (a: number, b: number) => a + b } });
  const silent = await Behind.start({ any: () => "one" }, { discover: false });
  const gateway = await start({
    upstreams: {
      told: { targets: { told: () => told.link() } },
      silent: { targets: { silent: () => silent.link() } },
    },
    routes: [
      { method: "math/*", to: "told" },
      { method: "exact", to: "told", rename: "math/add" },
      { method: "s/*", to: "silent", rename: "*" },
    ],
  });
  const names = ["math/add", "exact", "rpc.discover", "s/any", "math/x1", "else"];
  expect(names.filter((name) => gateway.hasMethod(name))).toEqual(names.slice(0, 4));
});
