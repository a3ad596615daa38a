import { createClient, createServer, method, stream } from "callwire";
import { memoryPair } from "callwire/connection";
import { expect, test } from "vitest";
import { z } from "zod";

test("both ends call each other, and streams flow", async () => {
  const methods = {
    math: {
      add: method(
        { params: z.object({ a: z.number(), b: z.number() }), result: z.number() },
        ({ a, b }) => a + b,
      ),
      count: stream(
        { params: z.object({ to: z.number() }), item: z.number() },
        async function* ({ to }) {
          for (let i = 0; i <= to; i++) yield i;
        },
      ),
    },
    ask: async (_: string) => "x",
    back: method({}, async (_p, call) => call.peer.call("twice", [21])),
    work: method({}, async (_p, call) => {
      call.progress(0.5);
      return "done";
    }),
  };
  const [a] = memoryPair(createServer({ twice: (n: number) => n * 2 }), createServer(methods));
  const client = createClient<typeof methods>(a);
  expect(await client.api.math.add({ a: 2, b: 3 })).toBe(5);
  expect(await client.call("math/add", [2, 3])).toBe(5);
  const seen: number[] = [];
  for await (const n of client.api.math.count({ to: 200 })) seen.push(n);
  expect(seen.length).toBe(201);
  expect(await client.api.back()).toBe(42);
  const progress: unknown[] = [];
  expect(await client.with({ onProgress: (v) => progress.push(v) }).api.work()).toBe("done");
  expect(progress).toEqual([0.5]);
  const [sum, asked] = await client.batch((b) => [b.math.add({ a: 1, b: 2 }), b.ask("hi")]);
  expect([sum, asked]).toEqual([3, "x"]);
});
