import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { a2aClient } from "callwire/a2a";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build, finish, start } from "./process.ts";

const folder = mkdtempSync(join(tmpdir(), "callwire-a2a-"));

beforeAll(() => build());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function written(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

async function served(file: string, ...options: string[]) {
  const process = start(["serve", file, "--a2a", "--port", "0", ...options]);
  const [, origin = ""] = await process.shown(/(http:\/\/127\.0\.0\.1:\d+)\/a2a/);
  return { process, origin, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
}

describe("callwire serve --a2a", () => {
  test("makes an agent of one generator, which callwire a2a talks to", async () => {
    const file = written(
      "parrot.mjs",
      `export async function* execute({ text }) {
        yield { state: "working" };
        if (text === "fail") { yield { state: "failed", message: "no" }; return; }
        yield text.toUpperCase();
      }`,
    );
    await using agent = await served(file);
    const ask = (...words: string[]) => finish(["a2a", agent.origin, ...words]);
    expect((await ask("card")).stdout).toMatch(/^parrot /);
    const { stdout, code } = await ask("stream", "hello world");
    expect(code).toBe(0);
    expect(stdout.split("\n").slice(1)).toEqual(["working", "HELLO WORLD", "completed", ""]);
    const sent = JSON.parse((await ask("send", "hi", "--json")).stdout);
    expect(sent.task.artifacts[0].parts).toEqual([{ text: "HI" }]);
    expect((await ask("get", sent.task.id)).stdout).toMatch(/^HI\ntask .* completed\n$/);
    expect((await ask("tasks")).stdout.trim().split("\n")).toHaveLength(2);
    expect(await ask("send", "fail")).toMatchObject({ code: 1 });
    expect(await ask("cancel", sent.task.id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("-32002 The task is over"),
    });
  });

  test("offers methods as skills", async () => {
    const file = written("math.mjs", "export const add = (a, b) => a + b;");
    await using agent = await served(file);
    const client = await a2aClient(agent.origin);
    expect(client.card.skills.map(({ id }) => id)).toEqual(["add"]);
    const result = await client.send({ data: { skill: "add", params: [2, 3] } });
    expect(result).toMatchObject({ task: { artifacts: [{ parts: [{ data: 5 }] }] } });
    await client.close();
    const data = JSON.stringify({ skill: "add", params: [1, 1] });
    expect((await finish(["a2a", agent.origin, "send", "--data", data])).stdout).toMatch(/^2\n/);
  });

  test("checks the arguments of plain functions, and shows params that work", async () => {
    const file = written("checked.mjs", "export const add = (a, b) => a + b;");
    await using agent = await served(file);
    const send = (data: object) =>
      finish(["a2a", agent.origin, "send", "--data", JSON.stringify(data)]);
    expect(await send({ skill: "add", params: { a: 1 } })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the argument "b" is missing'),
    });
    expect(await send({ skill: "add", params: { a: 1, b: 2, c: 3 } })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no argument "c"'),
    });
    const [, tried = ""] = await agent.process.shown(/npx callwire a2a .* --data '(.*)'/);
    expect(JSON.parse(tried)).toEqual({ skill: "add", params: { a: 1, b: 1 } });
    expect((await send(JSON.parse(tried))).stdout).toMatch(/^2\n/);
  });

  test("a generator with another name is a skill, which says what to send", async () => {
    const file = written("named.mjs", "export async function* answer(m) { yield m.text; }");
    await using agent = await served(file);
    await agent.process.shown(/a skill for each method/);
    const { code, stderr } = await finish(["a2a", agent.origin, "send", "hello"]);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'the argument "m" is missing; send { "skill": "answer", "params": { "m": … } } in a data part',
    );
  });

  test("separates the data of a failure from its text", async () => {
    const file = written("broken.mjs", "export const fail = () => { throw new Error(); };");
    await using agent = await served(file);
    const { stdout } = await finish(["a2a", agent.origin, "send", "--data", "{}"]);
    expect(stdout).toContain('failed: Internal error {"code":-32603');
  });

  test("serves methods as they are, as skills and as tools", async () => {
    const file = written("offered.mjs", "export const add = (a, b) => a + b;");
    await using agent = await served(file, "--mcp");
    const data = JSON.stringify({ skill: "add", params: [1, 1] });
    expect((await finish(["a2a", agent.origin, "send", "--data", data])).stdout).toMatch(/^2\n/);
    expect((await finish(["call", `${agent.origin}/rpc`, "add", "2", "3"])).stdout).toBe("5\n");
    expect((await finish(["mcp", `${agent.origin}/mcp`, "tools"])).stdout).toContain("add");
  });

  test("takes guards from its options", async () => {
    const file = written("guarded.mjs", "export const execute = ({ text }) => text;");
    const created = JSON.parse((await finish(["keys", "create", "--id", "ci", "--json"])).stdout);
    const keys = written("keys.json", JSON.stringify([created.record]));
    await using agent = await served(file, "--api-keys", keys);
    const { code, stderr } = await finish(["a2a", agent.origin, "send", "hi"]);
    expect(code).toBe(1);
    expect(stderr).toContain("-32000 Unauthenticated");
    const known = await finish([
      "a2a",
      agent.origin,
      "send",
      "hi",
      "-H",
      `x-api-key: ${created.secret}`,
    ]);
    expect(known.stdout).toBe("hi\n");
  });
});

test.each([
  [["a2a"], /address/],
  [["a2a", "http://127.0.0.1:1"], /a2a needs card, send, stream, tasks, get or cancel/],
  [["a2a", "http://127.0.0.1:1", "send"], /send needs a message/],
  [["a2a", "http://127.0.0.1:1", "send", "a", "b"], /unexpected argument "b" after send/],
])("callwire %j ends with 2 and one line", async (args, message) => {
  const { code, stderr } = await finish(args);
  expect(code).toBe(2);
  expect(stderr.trim()).toMatch(message);
});

test.each([
  ["execute", ["--mcp", "--port", "0"], /has no tools; remove --mcp/],
  ["add", ["--mcp"], /--a2a has no effect on stdio, the only wire of --mcp/],
  ["add", ["--stdio"], /--a2a needs HTTP/],
  ["add", ["--path", "/a2a"], /--path \/a2a is reserved for --a2a/],
] as const)("a module with %s cannot be served with --a2a %j", async (name, options, message) => {
  const file = written(`${name}-only.mjs`, `export const ${name} = () => "hello";`);
  const { code, stderr } = await finish(["serve", file, "--a2a", ...options]);
  expect(code).toBe(2);
  expect(stderr.trim()).toMatch(message);
});

test("an execute that is not a function is named", async () => {
  const file = written("five.mjs", "export const execute = 5;");
  const { code, stderr } = await finish(["serve", file, "--a2a"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/the export "execute" of .*five\.mjs must be a function/);
});

test("an agent that cannot be reached is named, with the reason", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const { code, stderr } = await finish(["a2a", `http://127.0.0.1:${port}`, "card"]);
  expect(code).toBe(3);
  expect(stderr).toMatch(/^callwire: http:\/\/127\.0\.0\.1:\d+: no connection to the server/);
});
