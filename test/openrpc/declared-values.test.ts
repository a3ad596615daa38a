import { deepStrictEqual } from "node:assert";
import { createClient, createServer, directLink, method, type Params } from "callwire";
import {
  declaredValues,
  naturalJson,
  type OpenrpcDocument,
  openrpcDocument,
  readDocument,
} from "callwire/openrpc";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const at = new Date(0);
const Shape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("day"), at: z.date() }),
  z.object({ kind: z.literal("text"), at: z.string() }),
]);
const methods = {
  all: method(
    {
      params: z.object({
        at: z.date().optional(),
        seats: z.bigint().nullable().optional(),
        days: z.map(z.string(), z.date()).optional(),
        named: z.record(z.string(), z.date()).optional(),
        shapes: z.array(Shape).optional(),
        either: z.union([z.string(), z.date()]).optional(),
        photo: z.file().optional(),
      }),
    },
    (params) => params,
  ),
  pair: method({ params: z.tuple([z.date(), z.number()]) }, (params) => params),
};

function clientOf(document: unknown = openrpcDocument(methods)) {
  const use = [declaredValues(readDocument(document))];
  return createClient(directLink(createServer(methods)), { values: "rich", use });
}

describe("params that are JSON arrive as the values that a document declares", () => {
  const iso = at.toISOString();
  const cases: readonly (readonly [given: Params, received: unknown])[] = [
    [{ at: iso }, { at }],
    [{ seats: "5" }, { seats: 5n }],
    [{ seats: null }, { seats: null }],
    [{ days: [["a", iso]] }, { days: new Map([["a", at]]) }],
    [{ named: { "a/b": iso } }, { named: { "a/b": at } }],
    [
      {
        shapes: [
          { kind: "text", at: iso },
          { kind: "day", at: iso },
        ],
      },
      {
        shapes: [
          { kind: "text", at: iso },
          { kind: "day", at },
        ],
      },
    ],
    [{ either: iso }, { either: iso }],
    [
      { at, seats: 5n },
      { at, seats: 5n },
    ],
  ];
  for (const [given, received] of cases) {
    test(JSON.stringify(naturalJson(given)), async () => {
      deepStrictEqual(await clientOf().call("all", given), received);
    });
  }

  test("by position", async () => {
    deepStrictEqual(await clientOf().call("pair", [iso, 1]), [at, 1]);
  });

  test("also next to files", async () => {
    const photo = new File(["sea"], "sea.jpg");
    const received = await clientOf().call<{ at: Date; photo: File }>("all", { at: iso, photo });
    expect([received.at, received.photo.name]).toEqual([at, "sea.jpg"]);
  });
});

test("a document with unresolvable references declares nothing", async () => {
  const loop: OpenrpcDocument = {
    openrpc: "1.3.2",
    info: { title: "", version: "" },
    methods: [
      { name: "all", params: [{ name: "either", schema: { $ref: "#/components/schemas/A" } }] },
      { name: "pair", params: [{ name: "a", schema: { "x-callwire-type": "__proto__" } }] },
    ],
    components: { schemas: { A: { anyOf: [{ $ref: "#/components/schemas/A" }] } } },
  };
  const client = clientOf(loop);
  expect(await client.call("all", { either: "a" })).toEqual({ either: "a" });
  await expect(client.call("pair", ["a"])).rejects.toMatchObject({ code: -32602 });
});

test("rich values as JSON are what documents describe", () => {
  const photo = new File(["sea"], "sea.jpg", { type: "image/jpeg", lastModified: 5 });
  expect(naturalJson({ at, seats: 2n, tags: new Set(["a"]), photo })).toEqual({
    at: at.toISOString(),
    seats: "2",
    tags: ["a"],
    photo: { name: "sea.jpg", type: "image/jpeg", size: 3, lastModified: 5, part: 1 },
  });
  expect(naturalJson("plain")).toBe("plain");
});

test("a value that is nested too deeply to be converted is returned as it is", () => {
  const deep: unknown = JSON.parse("[".repeat(20_000) + "]".repeat(20_000));
  expect(naturalJson(deep)).toBe(deep);
});
