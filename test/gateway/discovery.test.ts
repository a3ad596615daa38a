import { type Context, type Middleware, method, stream } from "callwire";
import type { OpenrpcDocument } from "callwire/openrpc";
import { expect, test } from "vitest";
import { z } from "zod";
import { faultsOf } from "../openrpc/validity.ts";
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

test("one document tells of everything behind it, by the names it has here", async () => {
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

test("who may not call a method does not see it, nor the types that only it has", async () => {
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

test("upstreams may share a prefix as long as they say who has what", async () => {
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
    '"cities" does not say which methods it has',
  );
});

test("an upstream that is away when the gateway starts is called when it is back", async () => {
  const behind = await Behind.start({ who: () => "back" });
  await behind.stop();
  const gateway = await start({
    upstreams: { one: { targets: { one: () => behind.link() } } },
    routes: [{ method: "*", to: "one" }],
  });
  const client = clientOf(gateway);
  await expect(client.call("who")).rejects.toMatchObject({ code: -32009 });
  await behind.start();
  expect(await client.call("who")).toBe("back");
});
