import { spawnSync } from "node:child_process";
import { byteStream, method, stream } from "callwire";
import { openrpcDocument, pythonClient, typescriptClient } from "callwire/openrpc";
import { beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { build } from "../cli/process.ts";
import { servedClient } from "./clients.ts";

const Entry = z.object({
  at: z.date(),
  size: z.bigint().optional(),
  tags: z.set(z.string()),
  prices: z.map(z.string(), z.date()),
  bytes: z.instanceof(Uint8Array),
});

const methods = {
  echo: method({ params: z.object({ entry: Entry }), result: Entry }, ({ entry }) => entry),
  later: method({ params: z.tuple([z.date(), z.bigint()]), result: z.date() }, ([at, ms]) => {
    return new Date(at.getTime() + Number(ms));
  }),
  days: stream({ params: z.object({ from: z.date() }), item: z.date() }, function* ({ from }) {
    for (let day = 0; day < 2; day++) yield new Date(from.getTime() + day * 86_400_000);
  }),
  measure: method(
    { params: z.object({ photo: z.file().max(1000).mime("image/jpeg").optional() }) },
    async ({ photo }) => (await photo?.bytes())?.length,
  ),
  backup: method({ result: byteStream() }, () => new Blob(["all"]).stream()),
  thumbnail: method({ result: z.instanceof(Blob) }, () => new Blob(["small"])),
};

const date = { type: "string", format: "date-time", "x-callwire-type": "date" };

test("a document has the JSON form of rich values, and their types", () => {
  const document = openrpcDocument(methods);
  const entry = JSON.stringify(document);
  expect(document.methods[1]?.params).toMatchObject([
    { name: "arg1", schema: date },
    { name: "arg2", schema: { type: "string", pattern: "^-?\\d+$", "x-callwire-type": "bigint" } },
  ]);
  expect(document.methods[2]?.["x-stream"]).toEqual({ item: date });
  const { properties } = Object.values(document.components?.schemas ?? {})[0] as {
    properties: object;
  };
  expect(entry).toContain('"x-callwire-type":"map"');
  expect(properties).toEqual({
    at: date,
    size: { type: "string", pattern: "^-?\\d+$", "x-callwire-type": "bigint" },
    tags: { type: "array", items: { type: "string" }, uniqueItems: true, "x-callwire-type": "set" },
    prices: {
      type: "array",
      items: { type: "array", items: [{ type: "string" }, date], minItems: 2, maxItems: 2 },
      "x-callwire-type": "map",
    },
    bytes: { type: "string", contentEncoding: "base64", "x-callwire-type": "bytes" },
  });
});

test("a document describes files and streams by what stands for them in JSON", () => {
  const [measure, backup, thumbnail] = openrpcDocument(methods).methods.slice(3);
  const data = { type: "string", contentEncoding: "base64" };
  expect(measure?.params[0]).toMatchObject({
    schema: {
      type: "object",
      properties: { data, part: { type: "integer" }, name: { type: "string" } },
      required: ["size"],
      "x-callwire-type": "file",
    },
  });
  expect(JSON.stringify(measure)).not.toContain("binary");
  const stream = { type: "object", properties: { data }, "x-callwire-type": "stream" };
  expect(backup?.result?.schema).toMatchObject(stream);
  expect(thumbnail?.result?.schema).toMatchObject({ "x-callwire-type": "blob" });
});

test("clients of documents without rich values have no code for them", () => {
  const plain = openrpcDocument({ echo: (value: unknown) => value });
  expect(typescriptClient(plain)).not.toContain("rich");
  expect(pythonClient(plain)).not.toContain("_decoded");
});

describe("a client in TypeScript", () => {
  beforeAll(build);

  test("takes and returns rich values", async () => {
    const { place, origin } = await servedClient(methods, "client.ts", typescriptClient);
    await place.write(
      "main.ts",
      `
      import { connect } from "./client.js";

      await using client = connect("${origin}/rpc");
      const { api } = client;
      const at: Date = new Date(0);
      const prices = new Map<string, Date>([["a", at]]);
      const entry = await api.echo({ entry: { at, size: 5n, tags: new Set(["x"]), prices, bytes: new Uint8Array([1]) } });
      const size: bigint | undefined = entry.size;
      const tags: Set<string> = entry.tags;
      const later: Date = await api.later(at, 5n);
      const days: Date[] = [];
      for await (const day of api.days({ from: at })) days.push(day);
      const photo = new File(["sea"], "sea.jpg", { type: "image/jpeg" });
      const length = await api.measure({ photo });
      const backup: ReadableStream<Uint8Array> = await api.backup();
      const small: Blob = await api.thumbnail();
      console.log(length, await new Response(backup).text(), await small.text());
      console.log(JSON.stringify([entry.at.getTime(), String(size), [...tags], entry.prices.get("a"), [...entry.bytes], later, days.length]));
    `,
    );
    expect(await place.compile("client.ts", "main.ts")).toBe("");
    const [bytes, rest = ""] = (await place.node("out/main.js")).split("\n");
    expect(bytes).toBe("3 all small");
    expect(JSON.parse(rest)).toEqual([
      0,
      "5",
      ["x"],
      "1970-01-01T00:00:00.000Z",
      [1],
      "1970-01-01T00:00:00.005Z",
      2,
    ]);
  });
});

const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe.skipIf(!hasPython && process.env["CI"] !== "true")(
  "a client in Python (needs python3)",
  () => {
    test("takes and returns datetime, int and bytes", async () => {
      const { place, origin } = await servedClient(methods, "client.py", pythonClient);
      await place.write(
        "main.py",
        `
import json
from datetime import datetime, timedelta, timezone
from client import Client, RpcError

client = Client("${origin}/rpc")
at = datetime(2026, 11, 18, 5, 0, 0, 123000, tzinfo=timezone(timedelta(hours=2)))
entry = client.api.echo({"at": at, "size": 5, "tags": ["x"], "prices": [["a", at]], "bytes": b"\\x00\\xff"})
later = client.api.later(at, 10**3)
days = list(client.api.days(at))
try:
    client.call("later", ["x", 1])
except RpcError as error:
    code = error.code
backup, small = client.api.backup(), client.api.thumbnail()
try:
    client.api.measure(b"sea")
except RpcError as error:
    refused = error.code
assert (backup, small, refused) == (b"all", b"small", -32602), (backup, small, refused)
print(json.dumps([
    entry["at"] == at, entry["size"], entry["tags"], entry["prices"][0][1] == at, list(entry["bytes"]),
    (later - at).total_seconds(), [(day - at).days for day in days], code,
]))
`,
      );
      const output = await place.python("main.py");
      const expected = [true, 5, ["x"], true, [0, 255], 1, [0, 1], -32602];
      expect(output.startsWith("[") ? JSON.parse(output) : output).toEqual(expected);
    });
  },
);
