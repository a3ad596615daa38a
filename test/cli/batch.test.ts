import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build, type Exit, type Process, start, startDemo } from "./process.ts";

let demo: Process & { readonly origin: string };
let urls: Record<string, string>;

beforeAll(async () => {
  await build();
  demo = await startDemo(["--tcp", "0"]);
  const [, port] = await demo.shown(/TCP +127\.0\.0\.1:(\d+)/);
  const rpc = `${demo.origin}/rpc`;
  urls = {
    http: rpc,
    ws: `${rpc.replace(/^http/, "ws")}/ws`,
    tcp: `tcp://127.0.0.1:${port}`,
  };
});

afterAll(() => demo?.[Symbol.asyncDispose]());

async function batch(wire: string, input: string, ...flags: string[]): Promise<Exit> {
  await using running = start(["batch", urls[wire] ?? "", "-", ...flags]);
  running.child.stdin?.end(input);
  return await running.exited;
}

const wires = ["http", "ws", "tcp"];

test.each(wires)("lines become one message, each reply beside its call, over %s", async (wire) => {
  const lines = [
    "add 1 2",
    "math/sqrt x=-4",
    '{"jsonrpc":"2.0","method":"notify_log","params":["told"]}',
    'echo {"message": "two words"}',
  ];
  const { code, stdout, stderr } = await batch(wire, `${lines.join("\n")}\n`);
  expect(stderr).toBe("");
  expect(stdout.split("\n").map((line) => line.replace(/ {2,}/, " | "))).toEqual([
    "add [1,2] | 3",
    'math/sqrt {"x":-4} | -32000 Negative input {"x":-4}',
    'notify_log ["told"] | notification',
    'echo {"message":"two words"} | "two words"',
    "",
  ]);
  expect(code).toBe(1);
});

test.each(wires)("an array is sent as it is, over %s", async (wire) => {
  const text = '[ {"id":12345678901234567890,"jsonrpc":"2.0","method":"add","params":[1,2]}, 1 ]';
  const { stdout, stderr } = await batch(wire, text, "--verbose");
  expect(stderr).toContain(`  ${text}\n`);
  expect(stderr).toContain('"id":12345678901234567890}');
  expect(stdout).toMatch(/^add \[1,2\] +3$/m);
  expect(stdout).toMatch(/^\(no id\) +-32600 Invalid Request/m);
});

test("a line gets an id that no other line has", async () => {
  const written = '{"jsonrpc":"2.0","method":"add","params":[3,4],"id":1}';
  const { stdout } = await batch("http", `add 1 2\n${written}\nadd 5 6\n`, "--json");
  const rows = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(rows.map(({ request, response }) => [request.id, response.result])).toEqual([
    [2, 3],
    [1, 7],
    [3, 11],
  ]);
});

test.each(["[]", '{"message":"boom"}', ""])(
  "calls that %j leaves unanswered failed",
  async (text) => {
    const short = createServer((_, response) => void response.end(text)).listen(0, "127.0.0.1");
    await once(short, "listening");
    urls.short = `http://127.0.0.1:${(short.address() as AddressInfo).port}`;
    const { code, stdout } = await batch("short", "add 1 2\n");
    short.close();
    expect(stdout).toMatch(/^add \[1,2\] +no response$/m);
    expect(code).toBe(1);
  },
);

test("--json pairs request and response on one line", async () => {
  const { code, stdout } = await batch("http", "add 1 2\nadd 3 4\n", "--json");
  const rows = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(rows).toEqual([
    {
      request: { jsonrpc: "2.0", method: "add", params: [1, 2], id: 1 },
      response: { jsonrpc: "2.0", result: 3, id: 1 },
    },
    {
      request: { jsonrpc: "2.0", method: "add", params: [3, 4], id: 2 },
      response: { jsonrpc: "2.0", result: 7, id: 2 },
    },
  ]);
  expect(code).toBe(0);
});

test.each(wires)("a batch of notifications waits for nothing, over %s", async (wire) => {
  const text = '[{"jsonrpc":"2.0","method":"notify_log","params":["alone"]}]';
  expect(await batch(wire, text)).toMatchObject({
    code: 0,
    stdout: 'notify_log ["alone"]  notification\n',
  });
});

test("an error instead of an array refuses the whole", async () => {
  const { code, stdout } = await batch("tcp", "[]");
  expect(stdout).toMatch(/^\(no id\) +-32600 Invalid Request/);
  expect(code).toBe(1);
});

test("remarks and empty lines are left out", async () => {
  const text = "# sums\nadd 1 2\n\n  # and a root\nmath/sqrt x=9\n";
  const { code, stdout } = await batch("http", text, "--json");
  expect(code).toBe(0);
  const rows = stdout.trim().split("\n");
  expect(rows.map((row) => JSON.parse(row).response)).toMatchObject([
    { result: 3, id: 1 },
    { result: 3, id: 2 },
  ]);
  expect((await batch("http", "# nothing\n")).stderr).toMatch(
    /standard input does not contain calls/,
  );
});

test.each([
  ['# one\nadd 1 2\n\n{"jsonrpc":\n', /standard input, line 4: invalid JSON: /],
  ["add 1 2\n# two\nadd a=1 2\n", /standard input, line 3: params must all be named/],
])("the line of a mistake is reported, of %j", async (text, line) => {
  const { code, stdout, stderr } = await batch("http", text);
  expect(stderr).toMatch(line);
  expect(stdout).toBe("");
  expect(code).toBe(2);
});

test("invalid JSON is reported before anything is sent", async () => {
  const { code, stderr } = await batch("http", "[1,");
  expect(stderr).toMatch(/^callwire: standard input: invalid JSON: [^\n]+\n$/);
  expect(code).toBe(2);
});
