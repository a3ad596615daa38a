import { createServer, type Middleware, method, RpcError, silentLog } from "callwire";
import {
  authenticate,
  bearer,
  type DiscloseErrorsOptions,
  discloseErrors,
} from "callwire/security";
import { testClient } from "callwire/testing";
import { expect, test } from "vitest";
import { json, send, serve } from "../transports/http/wire.ts";
import { ann, byToken, request, root } from "./serving.ts";

const methods = {
  fail: () => {
    throw new Error("the password is hunter2");
  },
  later: async () => {
    throw new TypeError("later");
  },
  leak: () => {
    throw new RpcError(-32603, "SELECT * FROM users", { query: "secret" });
  },
  unsendable: () => 10n,
  unsendableLater: async () => ({ n: 10n }),
  declared: () => {
    throw new RpcError(1001, "Not enough", { balance: 1 });
  },
};

interface Logged {
  readonly correlationId?: string;
  readonly err?: { readonly message: string };
}

function serverOf(options?: DiscloseErrorsOptions) {
  const logged: Logged[] = [];
  const log = { ...silentLog, error: (fields: object) => void logged.push(fields) };
  const use = [discloseErrors(options), authenticate(byToken, { anonymous: true })];
  return { logged, options: { use, log } };
}

async function errorOf(port: number, method: string, headers: object = {}) {
  const { text } = await send(port, { headers: { ...json, ...headers }, body: request(method) });
  return JSON.parse(text).error;
}

test.each(["fail", "later", "leak", "unsendable", "unsendableLater"])(
  "in production %s returns an id, under which the log has the details",
  async (method) => {
    const { logged, options } = serverOf();
    const { port } = await serve(methods, {}, options);
    const error = await errorOf(port, method);
    expect(error).toEqual({
      code: -32603,
      message: "Internal error",
      data: { correlationId: expect.stringMatching(/^[\da-f-]{36}$/) },
    });
    expect(logged).toHaveLength(1);
    expect(logged[0]?.correlationId).toBe(error.data.correlationId);
    expect(logged[0]?.err?.message).toMatch(/hunter2|later|SELECT|BigInt/);
  },
);

test("declared errors, and errors about the request, pass unchanged", async () => {
  const { port } = await serve(methods, {}, serverOf().options);
  expect(await errorOf(port, "declared")).toEqual({
    code: 1001,
    message: "Not enough",
    data: { balance: 1 },
  });
  expect(await errorOf(port, "none")).toEqual({ code: -32601, message: "Method not found" });
});

test("trusted callers see the message, and in development the stack", async () => {
  const internal = await serve(methods, {}, serverOf({ level: "internal" }).options);
  expect((await errorOf(internal.port, "fail")).data).toEqual({
    correlationId: expect.any(String),
    error: "Error: the password is hunter2",
  });
  const development = await serve(methods, {}, serverOf({ level: "development" }).options);
  expect((await errorOf(development.port, "later")).data.stack).toContain("at later");
});

test("a result that is not JSON is reported like an exception of a handler", async () => {
  const { port } = await serve(methods, {}, serverOf({ level: "internal" }).options);
  expect((await errorOf(port, "unsendable")).data).toEqual({
    correlationId: expect.any(String),
    error: expect.stringMatching(/^TypeError: .*BigInt/),
  });
});

test("so is a middleware that gives no reply", async () => {
  const { logged, options } = serverOf();
  const use = [...options.use, () => () => undefined];
  const { port } = await serve(methods, {}, { ...options, use });
  const error = await errorOf(port, "fail");
  expect(error.data).toEqual({ correlationId: expect.any(String) });
  expect(logged).toMatchObject([{ correlationId: error.data.correlationId, method: "fail" }]);
});

test("without it, only the log has the id", async () => {
  const { logged, options } = serverOf();
  const { port } = await serve(methods, {}, { log: options.log });
  expect(await errorOf(port, "unsendable")).toEqual({ code: -32603, message: "Internal error" });
  expect(logged).toMatchObject([{ correlationId: expect.any(String) }]);
});

test("a rule on details that throws does not keep the reply back", async () => {
  const detailsFor = () => {
    throw new Error("no directory");
  };
  const { logged, options } = serverOf({ detailsFor });
  const { port } = await serve(methods, {}, options);
  const error = await errorOf(port, "unsendable", root);
  expect(error).toMatchObject({ code: -32603, message: "Internal error" });
  expect(logged).toMatchObject([
    { err: { message: expect.stringContaining("BigInt") } },
    { err: { message: "no directory" } },
  ]);
});

test.each<DiscloseErrorsOptions["detailsFor"]>([
  { principals: ["root"] },
  { roles: ["operator"] },
  (principal) => principal.id === "root",
])("whom the option names gets details at any level", async (detailsFor) => {
  const { port } = await serve(
    methods,
    {},
    serverOf({ ...(detailsFor && { detailsFor }) }).options,
  );
  expect((await errorOf(port, "fail", root)).data.stack).toContain("hunter2");
  expect((await errorOf(port, "fail", ann)).data).toEqual({ correlationId: expect.any(String) });
  expect((await errorOf(port, "fail")).data).toEqual({ correlationId: expect.any(String) });
});

test("an exception of a guard is disclosed no further", () => {
  const broken = bearer(() => {
    throw new Error("secret");
  });
  const failing = authenticate({ verify: () => broken.verify({ ...nowhere, headers: ann }) });
  const server = createServer(methods, { use: [discloseErrors(), failing], log: silentLog });
  expect(server.receive(request("declared"))).toMatch(
    /^{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error","data":{"correlationId":"[\da-f-]{36}"}},"id":1}$/,
  );
});

const nowhere = { kind: "http", remoteAddress: undefined };

test("a handler that throws because its call was cancelled is not an error in the log", async () => {
  const { logged, options } = serverOf();
  const leaving = new AbortController();
  let replied = (): void => {};
  const done = new Promise<void>((resolve) => {
    replied = resolve;
  });
  const watch: Middleware = (next) => async (call, context) => {
    const reply = await next(call, context);
    replied();
    return reply;
  };
  const wait = method({}, async (_, { signal }) => {
    const stopped = new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("stopped")));
    });
    setImmediate(() => leaving.abort());
    await stopped;
  });
  const use = [watch, ...options.use];
  const { api } = testClient({ wait }, { use, log: options.log });
  const call = api.wait(undefined, { signal: leaving.signal });
  await expect(call).rejects.toMatchObject({ code: "ABORTED" });
  await done;
  expect(logged).toEqual([]);
});
