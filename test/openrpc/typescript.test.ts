import { createServer, method, silentLog, stream } from "callwire";
import { openrpcDocument, typescriptClient } from "callwire/openrpc";
import { serveSocket } from "callwire/tcp";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { methods as demo } from "../../examples/demo/methods.ts";
import { build } from "../cli/process.ts";
import { programInDocs, servedClient, workplace } from "./clients.ts";
import { hostile } from "./hostile.ts";

// The clients run against the built package.
beforeAll(build);

describe("the client of the demo", () => {
  test("compiles, calls, sends a batch, streams, and narrows errors", async () => {
    const { place, origin } = await servedClient(demo, "client.ts", typescriptClient);
    await place.write(
      "main.ts",
      `
      import { safe } from "callwire";
      import { connect } from "./client.js";

      for (const url of ["${origin}/rpc", "${origin.replace("http", "ws")}/rpc/ws"]) {
        await using client = connect(url);
        const { api } = client;
        const sum: number = await api.math.add({ a: 2, b: 3 });
        const [five, text] = await client.batch((b) => [b.add({ a: 1, b: 4 }), b.paritosh.echo({ message: "hi" })]);
        const items: number[] = [];
        for await (const n of api.math.add_stream({ a: 1, b: 2 })) items.push(n);
        const failed = await safe(api.math.sqrt({ x: -4 }));
        const x: number = !failed.ok && failed.error.code === -32000 ? failed.error.data.x : 0;
        const time: string = await client.call("get_server_time");
        await client.notify("add", [1, 2]);
        // @ts-expect-error Text is not a number.
        void (() => api.math.add({ a: "2", b: 3 }));
        // @ts-expect-error There is no such method.
        void (() => api.math.nothing());
        console.log(JSON.stringify([sum, five, text, items, x, time.length > 0]));
      }
    `,
    );
    expect(await place.compile("client.ts", "main.ts")).toBe("");
    expect(
      (await place.node("out/main.js"))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(Array(2).fill([5, 5, "[Paritosh] hi", [0, 1, 2, 3], -4, true]));
  });

  test("works as docs/openrpc.md shows", async () => {
    const { place, origin } = await servedClient(demo, "client.ts", typescriptClient);
    await place.write("main.ts", await programInDocs("typescript", origin));
    expect(await place.compile("client.ts", "main.ts")).toBe("");
    expect(await place.node("out/main.js")).toBe("5\n0\n1\n2\n3\n[ 3, '[Paritosh] hi' ]\n-4\n");
  });

  test("is the same each time", () => {
    const [first, second] = [1, 2].map(() =>
      typescriptClient(openrpcDocument(createServer(demo).methods)),
    );
    expect(first).toBe(second);
    expect(
      typescriptClient(JSON.parse(JSON.stringify(openrpcDocument(createServer(demo).methods)))),
    ).toBe(first);
  });
});

test("a client with every kind of type compiles and works", async () => {
  const Tree = z
    .object({
      value: z.number(),
      get children() {
        return z.array(Tree);
      },
    })
    .meta({ id: "Tree", description: "A tree */ of numbers" });
  const methods = {
    tuple: method(
      { params: z.tuple([z.object({ deep: z.boolean() }), z.number().optional()]) },
      (params) => params,
    ),
    plain: (...args: unknown[]) => args,
    either: method(
      { params: z.union([z.object({ a: z.number() }), z.tuple([z.number()])]) },
      (params) => params,
    ),
    open: method({ params: z.looseObject({ a: z.number() }) }, (params) => params),
    tree: method({ params: z.object({ tree: Tree }), result: Tree }, ({ tree }) => tree),
    kinds: method(
      {
        params: z.object({
          literal: z.literal("a"),
          choice: z.enum(["x", "y"]),
          maybe: z.string().nullable(),
          both: z.union([z.string(), z.number()]),
          pair: z.tuple([z.string(), z.number()]),
          rest: z.tuple([z.string()], z.number()),
          record: z.record(z.string(), z.number()),
          all: z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })),
          anything: z.unknown(),
          "odd-name": z.boolean().optional(),
        }),
      },
      (params) => params,
    ),
    trees: stream({ item: Tree }, function* () {
      yield { value: 1, children: [] };
    }),
    "trees/more": () => 1,
    "user.get": () => 2,
  };
  const { place } = await servedClient(methods, "client.ts", typescriptClient);
  await place.write(
    "main.ts",
    `
    import { connect, type Tree } from "./client.js";
    await using client = connect();
    const { api } = client;
    const tree: Tree = await api.tree({ tree: { value: 1, children: [{ value: 2, children: [] }] } });
    const kinds = await api.kinds({
      literal: "a", choice: "y", maybe: null, both: 1, pair: ["a", 1], rest: ["a", 1, 2],
      record: { a: 1 }, all: { a: "a", b: 1 }, anything: [], "odd-name": true,
    });
    // @ts-expect-error "z" is no choice.
    void (() => api.kinds({ choice: "z" }));
    console.log(JSON.stringify([
      await api.tuple({ deep: true }), await api.tuple({ deep: true }, 2), await api.plain(1, "b"),
      await api.plain({ a: 1 }), await api.either({ a: 1 }), await api.open({ a: 1, b: 2 }),
      tree.children[0]?.value, kinds, await api["trees/more"](), await api["user.get"](),
    ]));
    for await (const { value } of api.trees()) console.log(value);
  `,
  );
  expect(await place.compile("client.ts", "main.ts")).toBe("");
  const [line = "", item] = (await place.node("out/main.js")).trim().split("\n");
  expect(item).toBe("1");
  expect(JSON.parse(line)).toMatchObject([
    [{ deep: true }],
    [{ deep: true }, 2],
    [1, "b"],
    [{ a: 1 }],
    { a: 1 },
    { a: 1, b: 2 },
    2,
    { literal: "a", rest: ["a", 1, 2], "odd-name": true },
    1,
    2,
  ]);
});

test("over another wire it knows which params are by position and which calls are idempotent", async () => {
  let tries = 0;
  const methods = {
    pair: method(
      { params: z.tuple([z.object({ deep: z.boolean() }), z.number().optional()]) },
      (params) => params,
    ),
    read: method({ idempotent: true }, (_, { peer }) => {
      tries++;
      if (tries === 1) peer.close();
      return `read ${tries}`;
    }),
  };
  const server = createServer(methods, { log: silentLog });
  onTestFinished(() => server.close());
  const { port } = await serveSocket(server, { port: 0 });
  await using place = await workplace();
  await place.write("client.ts", typescriptClient(openrpcDocument(server.methods)));
  await place.write(
    "main.ts",
    `
    import { tcpLink } from "callwire/tcp";
    import { connect } from "./client.js";
    const used: string[] = [];
    await using client = connect(tcpLink({ port: ${port} }), {
      use: [(next) => (request, context) => {
        used.push(request.method);
        return next(request, context);
      }],
    });
    const { api } = client;
    console.log(JSON.stringify([await api.pair({ deep: true }), await api.read(), used]));
  `,
  );
  expect(await place.compile("client.ts", "main.ts")).toBe("");
  expect(JSON.parse(await place.node("out/main.js"))).toEqual([
    [{ deep: true }],
    "read 2",
    ["pair", "read"],
  ]);
});

test("a hostile document gives a client that compiles and does no harm", async () => {
  await using place = await workplace();
  await place.write("client.ts", typescriptClient(hostile));
  await place.write(
    "main.ts",
    `import * as client from "./client.js";\nconsole.log(Object.keys(client).join());`,
  );
  expect(await place.compile("client.ts", "main.ts")).toBe("");
  expect(await place.node("out/main.js")).toBe("connect\n");
});

test("references are decoded as in URIs, and an external one refers to nothing", () => {
  const client = typescriptClient({
    openrpc: "1.3.2",
    info: { title: "Names", version: "1" },
    methods: ["My%20Type", "My Type", "~1", "nowhere"].map((name, i) => ({
      name: `m${i}`,
      params: [],
      result: { name: "result", schema: { $ref: `#/components/schemas/${name}` } },
    })),
    components: {
      schemas: { "My Type": { type: "string" }, "/": { type: "number" }, "": { type: "boolean" } },
    },
  });
  const results = [...client.matchAll(/result: (\w+)/g)].map(([, type]) => type);
  expect(results).toEqual(["MyType", "MyType", "Type", "unknown"]);
});
