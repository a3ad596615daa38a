import { setImmediate as turn } from "node:timers/promises";
import { createClient, createServer, method, stream } from "callwire";
import { Connection } from "callwire/connection";
import { describe, expect, test } from "vitest";
import { collect } from "../heap.ts";
import { HandChannel, transport } from "./hand-channel.ts";

const calls = 100;
const inFlight = 4;

/** Resolves when all of these are freed except the last few, which are still in use. */
async function freedBut(kept: number, refs: readonly WeakRef<object>[]): Promise<void> {
  const freed = refs.slice(0, refs.length - kept);
  // A WeakRef that was read keeps its target until the turn is over; if anything else holds a
  // target, this never ends.
  while (freed.some((ref) => ref.deref() !== undefined)) {
    await turn();
    collect();
  }
}

/** A request or a reply, as it arrives on a channel. */
const message = (members: object): object => ({ jsonrpc: "2.0", ...members });

describe("a connection that continues keeps nothing", () => {
  test("of calls that have their answer, though others are open", async () => {
    const channel = new HandChannel();
    const connection = new Connection(channel, { transport });
    const client = createClient(connection);
    const open: Promise<unknown>[] = [];
    const params: WeakRef<object>[] = [];
    for (let i = 0; i < calls; i++) {
      const own = [i];
      params.push(new WeakRef(own));
      open.push(client.call("sum", own));
      if (open.length < inFlight) continue;
      channel.hear(message({ result: i, id: channel.ids[i - inFlight + 1] }));
      await open.shift();
    }
    await freedBut(inFlight - 1, params);
    await connection.close();
    await Promise.allSettled(open);
  });

  test.each(["sum", "count"])(
    "of calls that it answered: %s, after one was cancelled",
    async (name) => {
      const held: (() => void)[] = [];
      const hold = (): Promise<void> => new Promise((resolve) => held.push(resolve));
      const params: WeakRef<object>[] = [];
      const service = createServer({
        sum: method({}, async (own) => {
          params.push(new WeakRef(own as object));
          await hold();
        }),
        count: stream({}, async function* (own) {
          params.push(new WeakRef(own as object));
          yield 1;
          await hold();
          yield 2;
        }),
      });
      const channel = new HandChannel();
      const connection = new Connection(channel, { service, transport });
      for (let id = 1; id <= calls; id++) {
        channel.hear(message({ method: name, params: [id], id }));
        if (id === 2) channel.hear(message({ method: "$/cancelRequest", params: { id: 1 } }));
        await turn();
        if (id < inFlight) continue;
        held.shift()?.();
        await turn();
      }
      expect(params).toHaveLength(calls);
      await freedBut(inFlight - 1, params);
      for (const release of held) release();
      await connection.close();
    },
  );
});
