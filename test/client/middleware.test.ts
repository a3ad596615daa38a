import { type Context, createClient, failure, type Middleware, RpcError, success } from "callwire";
import { describe, expect, test } from "vitest";
import { emptyStream, HandLink, parrot } from "./hand-link.ts";

type Methods = { m: (value: string) => unknown; [name: string]: (...args: never[]) => unknown };

describe("middleware", () => {
  test("sees a call in order on its way out, and in reverse on its way back", async () => {
    const seen: string[] = [];
    const named =
      (name: string): Middleware =>
      (next) =>
      async (request, context) => {
        seen.push(`${name} out`);
        const reply = await next(request, context);
        seen.push(`${name} back`);
        return reply;
      };
    const link = new HandLink((request) => {
      seen.push("link");
      return success(request.method);
    });
    await createClient(link, { use: [named("first"), named("second")] }).call("m");
    expect(seen).toEqual(["first out", "second out", "link", "second back", "first back"]);
  });

  test("may pass on a copy of the context, but not omit it", async () => {
    const link = new HandLink(parrot);
    const copies: Middleware = (next) => (request, context) => next(request, { ...context });
    expect(await createClient(link, { use: [copies] }).call("m", ["a"])).toEqual(["m", ["a"]]);
    const drops: Middleware = (next) => (request) => next(request, {} as Context);
    await expect(createClient(link, { use: [drops] }).call("m")).rejects.toThrow(
      "context.outgoing is missing",
    );
  });

  test("is made once, not for each call", async () => {
    let made = 0;
    const counting: Middleware = (next) => {
      made++;
      return next;
    };
    const client = createClient(new HandLink(parrot), { use: [counting] });
    for (let i = 0; i < 5; i++) await client.call("m");
    expect(made).toBe(1);
  });

  test("may answer itself, without a promise or with one", async () => {
    const link = new HandLink(parrot);
    for (const reply of [success("kept"), Promise.resolve(success("kept"))]) {
      expect(await createClient(link, { use: [() => () => reply] }).call("m")).toBe("kept");
    }
    const refusing: Middleware = () => () => failure({ code: 9, message: "no" });
    await expect(createClient(link, { use: [refusing] }).call("m")).rejects.toEqual(
      new RpcError(9, "no"),
    );
    expect(link.payloads).toEqual([]);
  });

  test("may change the request and the reply", async () => {
    const link = new HandLink(parrot);
    const change: Middleware = (next) => async (request, context) => {
      const reply = await next(
        { ...request, method: "changed", traceparent: "00-1-2-01" },
        context,
      );
      return success({ wrapped: reply?.result });
    };
    const client = createClient<Methods>(link, { use: [change] });
    expect(await client.api.m("a")).toEqual({ wrapped: ["changed", ["a"]] });
    expect(link.written).toMatchObject([{ method: "changed", traceparent: "00-1-2-01" }]);
  });

  test("that throws fails the call with that error", async () => {
    const thrown = new Error("no token");
    const link = new HandLink(parrot);
    const throwing: Middleware = () => () => {
      throw thrown;
    };
    const rejecting: Middleware = () => () => Promise.reject(thrown);
    for (const use of [[throwing], [rejecting]]) {
      await expect(createClient(link, { use }).call("m")).rejects.toBe(thrown);
      await expect(createClient(link, { use }).notify("m")).rejects.toBe(thrown);
    }
  });

  test("sees notifications, streams and the calls of a batch too", async () => {
    const seen: unknown[] = [];
    const watch: Middleware = (next) => (request, context) => {
      seen.push([request.method, request.id === undefined, context.method === request.method]);
      return next(request, context);
    };
    const link = new HandLink(emptyStream);
    const client = createClient<Methods>(link, { use: [watch] });
    await client.notify("told");
    for await (const _ of client.stream("streamed"));
    link.behaviour = parrot;
    await client.batch((b) => [b.m("batched")]);
    await client.with({ timeoutMs: 5 }).call("called");
    expect(seen).toEqual([
      ["told", true, true],
      ["streamed", false, true],
      ["m", false, true],
      ["called", false, true],
    ]);
  });
});
