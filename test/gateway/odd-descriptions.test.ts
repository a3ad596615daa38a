/** Upstreams with descriptions that no honest one would have. */
import { type Middleware, silentLog, success } from "callwire";
import type { OpenrpcDocument } from "callwire/openrpc";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { Behind, clientOf, start } from "./behind.ts";

/** Describes itself with this, whatever methods it has. */
function describedAs(description: unknown): { use: readonly Middleware[] } {
  return {
    use: [
      (next) => (request, context) =>
        request.method === "rpc.discover" ? success(description) : next(request, context),
    ],
  };
}

const upstream = (behind: Behind) => ({
  targets: { one: () => behind.link() },
  healthCheck: { everyMs: 10, timeoutMs: 30_000 },
});

function nested(levels: number): unknown {
  let value: unknown = {};
  for (let i = 0; i < levels; i++) value = { items: value };
  return value;
}

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const known = { name: "known", params: [] };
const chain = Object.fromEntries(
  Array.from({ length: 20_000 }, (_, i) => [`T${i}`, reference(`T${i + 1}`)]),
);

describe.each([
  ["methods that are none", { methods: [null, "known", { name: 5 }, {}, known] }, ["known"]],
  ["a reference for a method", { methods: [{ $ref: "#/x" }, known] }, ["known"]],
  ["types that are none", { methods: [known], components: { schemas: 5 } }, ["known"]],
  ["more levels than a stack has", { methods: [{ ...known, result: nested(4_000) }] }, []],
  [
    "a long chain of types",
    { methods: [{ ...known, result: reference("T0") }], components: { schemas: chain } },
    ["known"],
  ],
])("an upstream that describes itself with %s", (_, description, names) => {
  const methods = { known: () => "called" };

  async function besideAnother(odd: Behind) {
    const other = await Behind.start({ other: { find: () => "found" } });
    const client = clientOf(
      await start({
        upstreams: { odd: upstream(odd), other: upstream(other) },
        routes: [
          { method: "*", to: "odd" },
          { method: "other/*", to: "other" },
        ],
      }),
    );
    const told = async () =>
      (await client.call<OpenrpcDocument>("rpc.discover")).methods.map(({ name }) => name);
    return { client, told };
  }

  test("is called like any other, and other descriptions stay complete", async () => {
    const odd = await Behind.start(methods, describedAs(description));
    const { client, told } = await besideAnother(odd);
    expect(await told()).toEqual([...names, "other/find"]);
    expect(await client.call("known")).toBe("called");
  });

  test("does no harm if it arrives later", async () => {
    const odd = await Behind.start(methods, describedAs(description));
    await odd.stop();
    const { client, told } = await besideAnother(odd);
    await odd.start();
    await expect.poll(() => client.call("known").catch(() => undefined)).toBe("called");
    await expect.poll(told).toEqual([...names, "other/find"]);
  });
});

test("a type without a description is any, even if JavaScript has that name", async () => {
  const result = { name: "result", schema: reference("constructor") };
  const behind = await Behind.start({}, describedAs({ methods: [{ ...known, result }] }));
  const gateway = await start({
    upstreams: { one: upstream(behind) },
    routes: [{ method: "*", to: "one" }],
  });
  expect(await clientOf(gateway).call("rpc.discover")).toMatchObject({
    components: { schemas: { constructor: {} } },
  });
});

test("targets that do not answer rpc.discover delay the start together, not one after the other", async () => {
  let asked = 0;
  const silent = await Behind.start(
    {},
    {
      use: [
        () => () => {
          asked++;
          return new Promise(() => {});
        },
      ],
    },
  );
  const clock = new FakeClock();
  const targets = Object.fromEntries(["a", "b", "c"].map((name) => [name, () => silent.link()]));
  const starting = start(
    {
      upstreams: { one: { targets, healthCheck: false } },
      routes: [{ method: "*", to: "one" }],
    },
    { clock, describeTimeoutMs: 5_000 },
  );
  await expect.poll(() => asked).toBe(3);
  clock.advance(5_000);
  await starting;
});

test("no upstream draws calls to itself by describing methods that a closer route leads elsewhere", async () => {
  const names = ["users/delete", "users/get", "free"];
  const greedy = await Behind.start(
    Object.fromEntries(names.map((name) => [name, () => "greedy"])),
  );
  const meant = await Behind.start(
    { users: { delete: () => "meant", get: () => "meant" } },
    { discover: false, log: silentLog },
  );
  const gateway = await start({
    upstreams: { greedy: upstream(greedy), meant: upstream(meant) },
    routes: [
      { method: "*", to: "greedy" },
      { method: "users/*", to: "meant" },
      { method: "users/delete", to: "meant" },
    ],
  });
  const client = clientOf(gateway);
  const answers = await Promise.all(names.map((name) => client.call(name)));
  expect(answers).toEqual(["meant", "meant", "greedy"]);
  expect(await client.call("rpc.discover")).toMatchObject({ methods: [{ name: "free" }] });
});
