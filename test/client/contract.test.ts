import {
  contractOptions,
  createClient,
  createServer,
  failure,
  implement,
  isRpcError,
  type Middleware,
  method,
  RpcError,
  safe,
  silentLog,
} from "callwire";
import { memoryPair } from "callwire/connection";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { HandLink, parrot } from "./hand-link.ts";

const NOT_FOUND = { code: 1404, data: z.object({ id: z.string() }) } as const;
const contract = {
  tasks: {
    get: method({
      params: z.object({ id: z.string() }),
      result: z.string(),
      errors: { NOT_FOUND },
      idempotent: true,
    }),
    kind: method({ result: z.string() }),
  },
  fail: method({ errors: { GONE: { code: 1410 } } }),
};
const handlers = implement(contract, {
  tasks: {
    get: ({ id }, _call, errors) => {
      throw errors.NOT_FOUND({ id });
    },
    kind: () => "task",
  },
  fail: () => {
    throw new RpcError(1404, "Not found");
  },
});
const server = createServer(handlers, { log: silentLog });
const { url } = await serveHttp(server, { port: 0 });
afterAll(() => server.close());

describe("a client with a contract", () => {
  test.each([
    ["HTTP", () => httpLink(url)],
    ["memory", () => memoryPair(undefined, server)[0]],
  ])("knows errors by their names over %s", async (_, link) => {
    await using client = createClient(link(), contractOptions(contract));
    const outcome = await safe(client.api.tasks.get({ id: "5" }));
    expect(outcome).toMatchObject({ ok: false, error: { code: 1404, declared: "NOT_FOUND" } });
    if (!outcome.ok && isRpcError(outcome.error, "NOT_FOUND")) {
      expect(outcome.error.data.id).toBe("5");
    }
    const { error } = await safe(client.api.fail());
    expect(isRpcError(error, 1404)).toBe(true);
    expect(isRpcError(error, "GONE" as never)).toBe(false);
    const batched = await client.batchSettled((b) => [b.tasks.get({ id: "6" })]);
    expect(batched[0]).toMatchObject({ reason: { declared: "NOT_FOUND", data: { id: "6" } } });
  });

  test("sends idempotent methods again without a list of them", async () => {
    const link = new HandLink(parrot);
    const { api } = createClient(
      link,
      contractOptions(contract, { separator: ".", idempotent: ["fail"] }),
    );
    await api.tasks.get({ id: "1" });
    await api.tasks.kind();
    await api.fail();
    expect(link.calls.map(({ outgoing }) => outgoing.idempotent)).toEqual([true, false, true]);
  });

  test("keeps its other options and its middleware", async () => {
    const link = new HandLink(() => failure({ code: 1410, message: "Gone" }));
    const seen: unknown[] = [];
    const watch: Middleware = (next) => async (request, context) => {
      const reply = await next(request, context);
      seen.push(reply?.error);
      return reply;
    };
    const client = createClient(link, contractOptions(contract, { use: [watch] }));
    await safe(client.with({ timeoutMs: 5000 }).api.fail());
    expect(seen).toMatchObject([{ code: 1410, declared: "GONE" }]);
  });
});

describe("isRpcError", () => {
  test("throws if a client without a contract cannot know the name of an error", async () => {
    await using client = createClient<typeof contract>(memoryPair(undefined, server)[0]);
    const { error } = await safe(client.api.tasks.get({ id: "5" }));
    expect(isRpcError(error, 1404)).toBe(true);
    expect(() => isRpcError(error, "NOT_FOUND")).toThrow("use contractOptions");
  });

  test("knows the names of errors that a handler made, and of no others", () => {
    const own = new RpcError(1404, "Not found");
    own.declared = "NOT_FOUND";
    expect(isRpcError(own as unknown, "NOT_FOUND")).toBe(true);
    expect(isRpcError(new RpcError(1404, "Not found") as unknown, "NOT_FOUND")).toBe(false);
    expect(isRpcError(new Error("no") as unknown, "NOT_FOUND")).toBe(false);
  });
});
