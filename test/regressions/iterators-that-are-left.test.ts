import { createClient, createServer, stream } from "callwire";
import { memoryPair } from "callwire/connection";
import { expect, test } from "vitest";

test("an iterator whose reader leaves while it waits is left once", async () => {
  let returns = 0;
  let wake = (): void => {};
  const items = {
    [Symbol.asyncIterator]: () => {
      let first = true;
      return {
        next: async () => {
          if (first) {
            first = false;
            return { done: false as const, value: 1 };
          }
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          return { done: true as const, value: undefined };
        },
        return: async () => {
          returns++;
          wake();
          return { done: true as const, value: undefined };
        },
      };
    },
  };
  const server = createServer({ wait: stream({}, () => items) });
  const [connection] = memoryPair(undefined, server);
  for await (const _ of createClient(connection).stream("wait")) break;
  await server.close();
  expect(returns).toBe(1);
});
