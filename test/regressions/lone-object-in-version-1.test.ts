import { createServer, method, silentLog } from "callwire";
import { expect, test } from "vitest";
import { z } from "zod";

// Clients of 1.0 such as Go's net/rpc can only send an array, and put an object of named params into it.

const point = z.object({ x: z.number(), y: z.number() });
const server = createServer(
  {
    add: method({ params: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => a + b),
    late: method({ params: z.object({ a: z.number() }).refine(async () => true) }, ({ a }) => a),
    norm: method({ params: z.object({ point }) }, ({ point: { x, y } }) => Math.hypot(x, y)),
  },
  { versions: ["1.0", "2.0"], log: silentLog },
);

async function answer(request: object): Promise<unknown> {
  return JSON.parse((await server.receive(JSON.stringify(request))) ?? "null");
}

test.each([
  ["of named params is those params", "add", { a: 7, b: 8 }, 15],
  ["is also read by a schema that validates asynchronously", "late", { a: 7 }, 7],
  ["that fits the first position stays there", "norm", { x: 3, y: 4 }, 5],
])("a single object %s", async (_, name, params, result) => {
  const reply = await answer({ method: name, params: [params], id: 1 });
  expect(reply).toEqual({ result, error: null, id: 1 });
});

test("a fault in it is reported as for named params", async () => {
  expect(await answer({ method: "add", params: [{ a: "7", b: 8 }], id: 1 })).toMatchObject({
    error: { code: -32602, data: { issues: [{ path: ["a"] }] } },
  });
});

test("in 2.0, which has named params, it is the first position", async () => {
  const params = [{ a: 7, b: 8 }];
  expect(await answer({ jsonrpc: "2.0", method: "add", params, id: 1 })).toMatchObject({
    error: { code: -32602 },
  });
});

test("errors in 1.0 are strings of JSON if the server is set so", async () => {
  const own = createServer(
    { one: () => 1 },
    { versions: ["1.0", "2.0"], version1Errors: "string", log: silentLog },
  );
  const ask = async (request: object) =>
    JSON.parse((await own.receive(JSON.stringify(request))) ?? "null");
  const error = { code: -32601, message: "Method not found" };
  const { error: text } = await ask({ method: "two", params: [], id: 1 });
  expect(JSON.parse(text)).toEqual(error);
  expect(await ask({ jsonrpc: "2.0", method: "two", id: 1 })).toMatchObject({ error });
  const wrong = { version1Errors: "text" as "string" };
  expect(() => createServer({}, wrong)).toThrow('version1Errors must be "object" or "string"');
});
