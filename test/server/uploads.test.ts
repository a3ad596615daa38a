import { createServer, method, RpcError, silentLog, stream, withContext } from "callwire";
import { testClient } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const methods = {
  join: method(
    { params: z.object({ by: z.string() }), upload: z.string(), result: z.string() },
    async ({ by }, call) => {
      const words: string[] = [];
      for await (const word of call.upload) words.push(word);
      return words.join(by);
    },
  ),
  lengths: stream({ upload: z.string(), item: z.number() }, async function* (_, call) {
    for await (const word of call.upload) yield word.length;
  }),
};

async function* words(...all: string[]): AsyncGenerator<string> {
  yield* all;
}

describe("an upload without a wire", () => {
  test("is read by the handler, by a caller of the server and by a test client", async () => {
    const api = createServer(methods).caller();
    expect(await api.join({ by: "-" }, { upload: words("a", "b") })).toBe("a-b");
    const { api: tested } = testClient(methods);
    const lengths: number[] = [];
    for await (const length of tested.lengths(undefined, { upload: ["one", "three"] })) {
      lengths.push(length);
    }
    expect(lengths).toEqual([3, 5]);
  });

  test("passes as JSON, so that handlers get what they get over a wire", async () => {
    const { client } = { client: testClient({ kinds: method({ upload: z.unknown() }, kinds) }) };
    const upload = [new Date(0), undefined, { a: undefined }];
    expect(await client.call<unknown>("kinds", undefined, { upload })).toEqual([
      "1970-01-01T00:00:00.000Z",
      null,
      {},
    ]);
  });

  test("has what a shared context adds", async () => {
    const own = withContext(() => ({ greeting: "hello" }));
    const { api } = testClient({
      greet: own.method({ upload: z.string() }, async (_, call) => {
        const greetings: string[] = [];
        for await (const name of call.upload) greetings.push(`${call.greeting}, ${name}`);
        return greetings;
      }),
    });
    expect(await api.greet(undefined, { upload: ["Ann", "Bob"] })).toEqual([
      "hello, Ann",
      "hello, Bob",
    ]);
  });
});

async function kinds(_: unknown, call: { readonly upload: AsyncIterable<unknown> }) {
  const all: unknown[] = [];
  for await (const item of call.upload) all.push(item ?? null);
  return all;
}

describe("a handler", () => {
  test("that reads two items at once gets them in order", async () => {
    const { api } = testClient({
      two: method({ upload: z.number() }, async (_, call) => {
        const items = call.upload[Symbol.asyncIterator]();
        const [first, second] = await Promise.all([items.next(), items.next()]);
        return [first.value, second.value];
      }),
    });
    expect(await api.two(undefined, { upload: [1, 2, 3] })).toEqual([1, 2]);
  });

  test("that throws ends the call, and its source is left", async () => {
    let isLeft = false;
    const source = (async function* () {
      try {
        for (;;) yield 1;
      } finally {
        isLeft = true;
      }
    })();
    const { api } = testClient({
      refuse: method({ upload: z.number() }, async (_, call) => {
        for await (const _ of call.upload) throw new RpcError(1001, "Enough");
      }),
    });
    await expect(api.refuse(undefined, { upload: source })).rejects.toMatchObject({ code: 1001 });
    await Promise.resolve();
    expect(isLeft).toBe(true);
  });

  test("without an upload in its definition is never called with one", async () => {
    let calls = 0;
    const client = testClient({ count: () => ++calls }, { log: silentLog });
    await expect(client.call<unknown>("count", [], { upload: [1] })).rejects.toMatchObject({
      code: -32602,
      data: { details: "this method does not take an upload" },
    });
    expect(calls).toBe(0);
  });
});
