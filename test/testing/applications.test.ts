import { createClient, type Methods, method, RpcError, stream } from "callwire";
import { httpLink } from "callwire/http";
import { authenticate, bearer } from "callwire/security";
import { FakeClock, mock, mswHandler, testClient } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const task = z.object({ id: z.string(), done: z.boolean() });
const methods = {
  tasks: {
    list: method({ result: z.array(task) }, () => [{ id: "1", done: false }]),
    get: method({ params: z.object({ id: z.string() }), result: task }, ({ id }) => ({
      id,
      done: true,
    })),
    watch: stream({ item: task }, async function* () {
      yield { id: "1", done: false };
    }),
  },
  who: method({ access: { roles: ["member"] } }, (_, call) => call.principal?.id),
} satisfies Methods;

describe("testClient", () => {
  test("calls methods as a principal, through access rules and middleware", async () => {
    const principal = { id: "ann", roles: ["member"] };
    expect(await testClient(methods, { principal }).api.who()).toBe("ann");
    await expect(testClient(methods).api.who()).rejects.toMatchObject({ code: -32601 });
    const use = [authenticate(bearer(() => principal))];
    const headers = { authorization: "Bearer d2hhdA" };
    expect(await testClient(methods, { use, headers }).api.who()).toBe("ann");
    await expect(testClient(methods, { use }).api.who()).rejects.toMatchObject({ code: -32001 });
  });

  test("gives its clock to the server and to the client", async () => {
    const clock = new FakeClock();
    const never = { wait: () => new Promise<void>(() => {}) };
    const client = testClient(never, { clock, client: { timeoutMs: 5_000 } });
    const call = expect(client.api.wait()).rejects.toMatchObject({ code: "TIMEOUT" });
    clock.advance(6_000);
    await call;
  });
});

describe("mock", () => {
  test("answers with the types of the methods", async () => {
    const { api } = testClient(
      mock<typeof methods>({
        tasks: {
          list: () => [],
          get: async ({ id }) => ({ id, done: false }),
          *watch() {
            yield { id: "2", done: true };
          },
        },
      }),
    );
    expect(await api.tasks.list()).toEqual([]);
    expect(await api.tasks.get({ id: "7" })).toEqual({ id: "7", done: false });
    const seen: unknown[] = [];
    for await (const item of api.tasks.watch()) seen.push(item);
    expect(seen).toEqual([{ id: "2", done: true }]);
  });

  test("says which method is not mocked", async () => {
    const { api } = testClient(mock<typeof methods>({ tasks: { list: () => [] } }));
    const missing = { code: -32601, method: "tasks/get" };
    await expect(api.tasks.get({ id: "1" })).rejects.toMatchObject(missing);
  });

  test("answers with values that JSON cannot carry, or with what JSON makes of them", async () => {
    const event = z.object({ at: z.date(), seats: z.bigint() });
    const events = {
      next: method({ params: z.object({ after: z.date() }), result: event }),
      at: method({ result: z.date() }),
      all: stream({ item: event }),
    };
    const at = new Date(0);
    const mocked = mock<typeof events>({
      next: ({ after }) => ({ at: after, seats: 2n }),
      at: () => at.toJSON(),
      *all() {
        yield { at, seats: 1n };
      },
    });
    const { api } = testClient(mocked, { client: { values: "rich" } });
    expect(await api.next({ after: at })).toEqual({ at, seats: 2n });
    for await (const item of api.all()) expect(item).toEqual({ at, seats: 1n });
    expect(await testClient(mocked).api.at()).toBe(at.toJSON());
  });

  test("does not compile with other types", () => {
    // @ts-expect-error A list holds tasks.
    mock<typeof methods>({ tasks: { list: () => ["1"] } });
    // @ts-expect-error There is no such method.
    mock<typeof methods>({ tasks: { remove: () => [] } });
  });
});

describe("mswHandler", () => {
  test("answers the calls of a page, with its principal and errors", async () => {
    const answer = mswHandler(
      mock<typeof methods>({
        who: () => "mocked",
        tasks: {
          list: () => [{ id: "1", done: true }],
          get: () => {
            throw new RpcError(1404, "Not found");
          },
          *watch() {
            yield { id: "3", done: false };
          },
        },
      }),
    );
    const link = httpLink("https://app.example.com/rpc", {
      fetch: (url, init) => answer({ request: new Request(url, init) }),
    });
    const { api } = createClient<typeof methods>(link);
    expect(await api.tasks.list()).toEqual([{ id: "1", done: true }]);
    await expect(api.tasks.get({ id: "1" })).rejects.toMatchObject({ code: 1404 });
    const seen: unknown[] = [];
    for await (const item of api.tasks.watch()) seen.push(item);
    expect(seen).toEqual([{ id: "3", done: false }]);
  });

  test("sets the principal of real methods", async () => {
    const answer = mswHandler(methods, { principal: { id: "ann", roles: ["member"] } });
    const link = httpLink("https://app.example.com/rpc", {
      fetch: (url, init) => answer({ request: new Request(url, init) }),
    });
    expect(await createClient<typeof methods>(link).api.who()).toBe("ann");
  });
});
