import { createClient, createServer, type Link, method, stream } from "callwire";
import { mock, testClient } from "callwire/testing";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

const methods = {
  plain: method({ params: z.object({ a: z.number() }) }, ({ a }) => a),
  sum: method({ upload: z.number(), result: z.number() }, async (_, call) => {
    expectTypeOf(call.upload).toEqualTypeOf<AsyncIterable<number>>();
    return 0;
  }),
  transcribe: stream(
    {
      params: z.object({ language: z.string() }),
      upload: z.object({ at: z.coerce.date() }),
      item: z.string(),
    },
    async function* (_, call) {
      for await (const chunk of call.upload) {
        expectTypeOf(chunk).toEqualTypeOf<{ at: Date }>();
        yield "word";
      }
    },
  ),
  when: method({ upload: z.date() }, async () => null),
};

declare const link: Link;
const { api, call } = createClient<typeof methods>(link);
declare const numbers: AsyncIterable<number>;

test("an upload is required where the definition has one, and refused elsewhere", () => {
  expectTypeOf(api.sum(undefined, { upload: numbers })).resolves.toEqualTypeOf<number>();
  expectTypeOf(api.sum(undefined, { upload: [1, 2], timeoutMs: 5 })).resolves.toBeNumber();
  // @ts-expect-error the upload is missing
  void api.sum();
  // @ts-expect-error the upload is missing
  void api.sum(undefined, {});
  // @ts-expect-error items are numbers
  void api.sum(undefined, { upload: ["one"] });
  // @ts-expect-error the params are missing
  void api.transcribe(undefined, { upload: [] });
  // @ts-expect-error this method takes no upload
  void api.plain({ a: 1 }, { upload: numbers });
  for (const _ of [api.transcribe({ language: "en" }, { upload: [{ at: 1 }] })]) {
    expectTypeOf(_).toExtend<AsyncIterable<string>>();
  }
});

test("by name it is the same", () => {
  expectTypeOf(call("sum", undefined, { upload: numbers })).resolves.toEqualTypeOf<number>();
  // @ts-expect-error the upload is missing
  void call("sum");
  // @ts-expect-error items are numbers
  void call("sum", undefined, { upload: ["one"] });
  // @ts-expect-error this method takes no upload
  void call("plain", { a: 1 }, { upload: numbers });
  void createClient(link).call("anything", [], { upload: numbers });
});

test("items that JSON cannot carry need rich values", () => {
  // @ts-expect-error a Date needs values: "rich"
  void api.when(undefined, { upload: [new Date()] });
  const rich = createClient<typeof methods>(link, { values: "rich" });
  void rich.api.when(undefined, { upload: [new Date()] });
});

test("callers without a wire, test clients and mocks have it too", () => {
  void createServer(methods).caller().sum(undefined, { upload: numbers });
  void testClient(methods).api.sum(undefined, { upload: numbers });
  mock<typeof methods>({ sum: method({ upload: z.number() }, async () => 5) });
});
