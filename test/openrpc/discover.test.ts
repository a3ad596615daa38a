import { createServer, type Middleware, method, RpcError, type ServerOptions } from "callwire";
import type { OpenrpcDocument } from "callwire/openrpc";
import { expect, test, vi } from "vitest";
import * as z from "zod";

const Secret = z.object({ launch: z.string(), code: z.number() });
const methods = {
  open: method({ params: z.object({ n: z.number() }), result: z.number() }, ({ n }) => n),
  admin: {
    arm: method({ params: z.object({ secret: Secret }), result: Secret }, ({ secret }) => secret),
  },
};

interface Reply {
  readonly result?: OpenrpcDocument;
  readonly error?: { readonly code: number };
}

function discover(options?: ServerOptions): Reply {
  return ask(createServer(methods, options));
}

function ask(server: { receive(text: string): unknown }): Reply {
  return JSON.parse(server.receive('{"jsonrpc":"2.0","method":"rpc.discover","id":1}') as string);
}

test("a server describes itself unless told not to", () => {
  expect(discover().result?.methods.map(({ name }) => name)).toEqual(["open", "admin/arm"]);
  expect(discover({ discover: false }).error?.code).toBe(-32601);
});

test("the options say what the server is", () => {
  const servers = [{ url: "https://example.com/rpc" }];
  const { result } = discover({ discover: { title: "Mine", version: "2.0.0", servers } });
  expect(result).toMatchObject({ info: { title: "Mine", version: "2.0.0" }, servers });
});

test("the method is not one of the server's own", () => {
  expect([...createServer(methods).methods.keys()]).toEqual(["open", "admin/arm"]);
});

test("middleware sees the call, and may refuse it", () => {
  const refuse: Middleware = (next) => (request, context) => {
    if (request.method === "rpc.discover") throw new RpcError(-32001, "Who are you?");
    return next(request, context);
  };
  expect(discover({ use: [refuse] }).error?.code).toBe(-32001);
});

test("a hidden method is missing, and so are its types", () => {
  const { result } = discover({ discover: { visible: (name) => !name.startsWith("admin/") } });
  expect(result?.methods.map(({ name }) => name)).toEqual(["open"]);
  expect(JSON.stringify(result)).not.toMatch(/admin|secret|launch/i);
});

test("middleware may hide methods, by who calls", () => {
  const known: Middleware = (next) => (request, context) => {
    context.principal = { id: "ada", roles: ["admin"] };
    return next(request, context);
  };
  const rule: Middleware = Object.assign<Middleware, Pick<Middleware, "visible">>((next) => next, {
    visible: (name, { principal }) =>
      !name.startsWith("admin/") || principal?.roles?.includes("admin") === true,
  });
  expect(discover({ use: [rule] }).result?.methods).toHaveLength(1);
  expect(discover({ use: [known, rule] }).result?.methods).toHaveLength(2);
});

test("the document is made once", () => {
  const toJsonSchema = vi.fn(() => undefined);
  const server = createServer(methods, { discover: { toJsonSchema, visible: () => true } });
  expect(toJsonSchema).not.toHaveBeenCalled();
  const first = ask(server);
  const calls = toJsonSchema.mock.calls.length;
  expect(calls).toBeGreaterThan(0);
  expect(ask(server)).toEqual(first);
  expect(toJsonSchema).toHaveBeenCalledTimes(calls);
});
