import {
  createClient,
  createServer,
  directLink,
  method,
  RpcError,
  silentLog,
  stream,
  topic,
} from "callwire";
import { authenticate, bearer } from "callwire/security";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { deferred } from "../transports/contract/wire.ts";

const items = topic<number>();
const methods = {
  math: {
    add: method({ params: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => a + b),
  },
  who: method({}, (_, call) => call.principal?.id ?? null),
  header: method({}, (_, { transport }) => transport.headers["x-team"]),
  today: () => new Date(0) as unknown,
  secret: method({ access: { roles: ["operator"] } }, () => "secret"),
  wipe: method({ access: { local: true } }, () => "wiped"),
  fail: () => {
    throw new RpcError(1404, "Not found");
  },
  count: stream({}, async function* () {
    for (let n = 0; n < 2000; n++) yield n;
  }),
  report: method({}, (_, call) => {
    call.progress("half");
    return "done";
  }),
  news: stream({}, (_, call) => items.subscribe(call)),
};
const server = createServer(methods, { log: silentLog });

describe("a caller without a wire", () => {
  test("calls methods with their types, and gets what a wire would carry", async () => {
    const api = server.caller();
    expectTypeOf(api.math.add({ a: 2, b: 3 })).resolves.toBeNumber();
    expect(await api.math.add({ a: 2, b: 3 })).toBe(5);
    expect(await api.today()).toBe("1970-01-01T00:00:00.000Z");
    await expect(api.math.add({ a: "2", b: 3 } as never)).rejects.toMatchObject({ code: -32602 });
    await expect(api.fail()).rejects.toMatchObject({ code: 1404, method: "fail" });
  });

  test("has the principal and the headers that it is given", async () => {
    expect(await server.caller().who()).toBe(null);
    expect(await server.caller({ principal: { id: "ann" } }).who()).toBe("ann");
    expect(await server.caller({ headers: { "X-Team": "red" } }).header()).toBe("red");
    const headers = new Headers({ "x-team": "blue" });
    expect(await server.caller({ headers }).header()).toBe("blue");
  });

  test("is subject to access rules, and is not local to the machine", async () => {
    const operator = server.caller({ principal: { id: "root", roles: ["operator"] } });
    expect(await operator.secret()).toBe("secret");
    await expect(server.caller().secret()).rejects.toMatchObject({ code: -32601 });
    await expect(operator.wipe()).rejects.toMatchObject({ code: -32601 });
  });

  test("is authenticated by its headers if it has no principal", async () => {
    const verify = (token: string) => (token === "d2hhdA" ? { id: "ann" } : undefined);
    const guarded = createServer(methods, { use: [authenticate(bearer(verify))] });
    const headers = { authorization: "Bearer d2hhdA" };
    expect(await guarded.caller({ headers }).who()).toBe("ann");
    expect(await guarded.caller({ principal: { id: "bob" } }).who()).toBe("bob");
    await expect(guarded.caller().who()).rejects.toMatchObject({ code: -32001 });
  });

  test("reads streams and progress, and uses the separator of the server", async () => {
    const seen: number[] = [];
    for await (const n of server.caller().count()) seen.push(n);
    expect(seen).toHaveLength(2000);
    const progress: unknown[] = [];
    const client = createClient(directLink(server));
    const onProgress = (value: unknown) => void progress.push(value);
    expect(await client.call("report", [], { onProgress })).toBe("done");
    expect(progress).toEqual(["half"]);
    const dotted = createServer({ math: { two: () => 2 } }, { separator: "." });
    expect(await dotted.caller().math.two()).toBe(2);
  });

  test("sends batches, and headers of single calls", async () => {
    const client = createClient<typeof methods>(directLink(server));
    expect(await client.batch((b) => [b.who(), b.math.add({ a: 1, b: 2 })])).toEqual([null, 3]);
    expect(await client.call("header", undefined, { headers: { "x-team": "red" } })).toBe("red");
  });

  test("stops the producer of a stream while its reader takes nothing", async () => {
    let produced = 0;
    const endless = stream({}, async function* () {
      for (;;) yield ++produced;
    });
    const reading = createServer({ endless }).caller().endless()[Symbol.asyncIterator]();
    await reading.next();
    for (let i = 0; i < 10; i++) await new Promise(setImmediate);
    expect(produced).toBeLessThan(200);
    await reading.return?.();
  });

  test("leaves a stream, and the handler is aborted", async () => {
    const reading = server.caller().news()[Symbol.asyncIterator]();
    const first = reading.next();
    while (items.size === 0) await new Promise(setImmediate);
    items.publish(1);
    expect(await first).toEqual({ done: false, value: 1 });
    await reading.return?.();
    while (items.size > 0) await new Promise(setImmediate);
  });

  test("cancels a call", async () => {
    const aborted = deferred<unknown>();
    const begun = deferred();
    const wait = method({}, (_, { signal }) => {
      signal.addEventListener("abort", () => aborted.resolve(signal.reason));
      begun.resolve();
      return new Promise(() => {});
    });
    const client = createClient(directLink(createServer({ wait }, { log: silentLog })));
    const controller = new AbortController();
    const call = client.call("wait", [], { signal: controller.signal });
    await begun.promise;
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    expect(await aborted.promise).toMatchObject({ code: -32800 });
  });
});
