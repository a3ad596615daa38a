import { createServer, defaultLimits, type Limits, method, silentLog } from "callwire";
import { expect, test } from "vitest";
import { z } from "zod";
import { ask, issuesOf, requestText } from "./asking.ts";

const echo = { echo: (value: unknown) => value, later: async (value: unknown) => value };

test("the default limits", () => {
  expect(createServer({}).limits).toEqual(defaultLimits);
  expect(defaultLimits).toMatchObject({
    maxMessageBytes: 1024 * 1024,
    maxReplyLength: 10 * 1024 * 1024,
    maxBatch: 100,
    maxDepth: 64,
    maxRichValues: 5000,
    maxFiles: 16,
    maxFileBytes: 10 * 1024 * 1024,
    maxIdLength: 256,
    maxInFlight: 1_000,
  });
});

test("ten thousand calls run at a time by default, and no more", async () => {
  const server = createServer({ wait: () => new Promise(() => {}) }, { log: silentLog });
  for (let i = 0; i < 10_000; i++) void server.receive(requestText("wait"));
  expect(await server.receive(requestText("wait"))).toContain('"code":-32005');
  await server.close({ drainMs: 0 });
});

test("a limit that does not exist or makes no sense is refused when the server is made", () => {
  const make = (limits: object) => () => createServer({}, { limits: limits as Partial<Limits> });
  expect(make({ maxBatches: 5 })).toThrow('unknown limit "maxBatches"');
  expect(make({ toString: 5 })).toThrow("unknown limit");
  for (const value of [0, -1, Number.NaN, "5", null, undefined]) {
    expect(make({ maxBatch: value })).toThrow("maxBatch must be a number of at least 1");
  }
  expect(make({ maxBatch: Number.POSITIVE_INFINITY })).not.toThrow();
});

test("a message of 1 MiB is answered, and a longer one is refused without being parsed", () => {
  const server = createServer(echo);
  const around = requestText("echo", [""]).length;
  const message = (length: number) => requestText("echo", ["x".repeat(length - around)]);
  expect(message(1_048_576)).toHaveLength(1_048_576);
  expect(server.receive(message(1_048_576))).toContain('"result":"xxx');
  expect(server.receive(message(1_048_577))).toContain(
    '"a message must have at most 1048576 bytes"',
  );
  expect(server.receive("x".repeat(1_048_577))).toContain("-32600");
});

test("a reply of 10 MiB is sent, and a longer one is kept back", async () => {
  const server = createServer({
    now: (length: number) => "x".repeat(length - 2),
    later: async (length: number) => "x".repeat(length - 2),
  });
  const most = 10 * 1024 * 1024;
  for (const name of ["now", "later"]) {
    const full = (await server.receive(requestText(name, [most]))) as string;
    expect(full.length).toBeGreaterThan(most);
    expect(await ask(server, name, [most + 1])).toEqual({
      jsonrpc: "2.0",
      error: {
        code: -32008,
        message: "Reply too large",
        data: "a reply must not be longer than 10485760 characters",
      },
      id: 1,
    });
  }
});

test("too many issues are cut short, so that a wrong request has no enormous answer", async () => {
  const server = createServer({
    sum: method({ params: z.object({ numbers: z.array(z.number()) }) }, () => 0),
  });
  const texts = Array(100_000).fill("x");
  const many = await ask(server, "sum", { numbers: texts });
  const issues = issuesOf(many);
  expect(many.error?.code).toBe(-32602);
  expect(issues).toHaveLength(21);
  expect(issues[0]).toMatchObject({ path: ["numbers", 0] });
  expect(issues[20]).toEqual({ path: [], message: "99980 more issues" });
  expect(JSON.stringify(many).length).toBeLessThan(4_000);
  const few = await ask(server, "sum", { numbers: texts.slice(0, 20) });
  expect(issuesOf(few)).toHaveLength(20);
});

test("refusing a depth beyond the limit is cheap", async () => {
  const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
  const text = (params: string) => `{"jsonrpc":"2.0","method":"echo","params":${params},"id":1}`;
  for (const maxDepth of [2, 3, 10, 64, 500]) {
    const server = createServer(echo, { limits: { maxDepth } });
    expect(server.receive(text(deep(maxDepth - 1)))).toContain('"result":');
    expect(server.receive(text(deep(maxDepth)))).toContain(`nested deeper than ${maxDepth} levels`);
    expect(server.receive(text(deep(50_000)))).toContain(`nested deeper than ${maxDepth} levels`);
  }
  const flat = createServer(echo, { limits: { maxDepth: 1 } });
  expect(flat.receive(text("[]"))).toContain("nested deeper than 1 levels");
  expect(flat.receive('{"jsonrpc":"2.0","method":"echo","id":1}')).toContain('"result":null');
});

test("replies to a batch may be as long together as one may be alone, with their commas", async () => {
  for (const name of ["echo", "later"]) {
    const batch = `[${requestText(name, ["abc"])},${requestText(name, ["abc"])}]`;
    const full = (await createServer(echo).receive(batch)) as string;
    // Each reply counts with a comma, instead of the brackets.
    const length = full.length - 1;
    const answerWith = (maxReplyLength: number) =>
      createServer(echo, { limits: { maxReplyLength } }).receive(batch);
    expect(await answerWith(length)).toBe(full);
    expect(await answerWith(length - 1)).toContain('"code":-32008');
  }
});

test("the memory of a batch is released with its last entry", async () => {
  const server = createServer(echo, { maxRunningBytes: 3_000 });
  const batch = (count: number) =>
    `[${Array(count)
      .fill(requestText("later", ["x".repeat(100)]))
      .join(",")}]`;
  for (let i = 0; i < 20; i++) {
    expect(await server.receive(batch(2))).not.toContain("error");
    expect(await server.receive(requestText("later", ["x".repeat(200)]))).not.toContain("error");
  }
  expect(server.running.held.bytes).toBe(0);
  // While it runs, its memory is counted once.
  const answer = server.receive(batch(3));
  const { bytes } = server.running.held;
  expect([bytes > 600, bytes < 3_000]).toEqual([true, true]);
  expect(await answer).not.toContain("error");
  expect(server.running.held.bytes).toBe(0);
});

test("a batch beyond the limit runs none of its entries", async () => {
  let runs = 0;
  const server = createServer({ run: () => ++runs }, { limits: { maxBatch: 2 } });
  const batch = (length: number) => `[${Array(length).fill(requestText("run")).join(",")}]`;
  expect(server.receive(batch(3))).toContain("a batch must have at most 2 requests");
  expect(server.receive(batch(300))).toContain("a batch must have at most 2 requests");
  expect(runs).toBe(0);
  expect(JSON.parse(server.receive(batch(2)) as string)).toHaveLength(2);
});
