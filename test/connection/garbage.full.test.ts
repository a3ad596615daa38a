import { setImmediate as turn } from "node:timers/promises";
import { createClient, createServer, stream } from "callwire";
import { type Channel, type ChannelListener, Connection } from "callwire/connection";
import { describe, expect, test } from "vitest";
import { collect } from "../heap.ts";
import { transport } from "./hand-channel.ts";

const MIB = 1_048_576;
/** Params of 32 KiB: if V8 kept those of every call, that would show. */
const numbers = (): number[] => new Array<number>(4_096).fill(1);
const inFlight = 4;

/**
 * How much memory of a thousand calls, one after the other, survives a minor garbage collection.
 */
async function leftOf(callOnce: () => Promise<unknown>): Promise<number> {
  for (let i = 0; i < 100; i++) await callOnce();
  // Objects that live longer than a call are old from here on, and what they held on to would stay.
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 1_000; i++) await callOnce();
  collect({ type: "minor" });
  collect({ type: "minor" });
  return process.memoryUsage().heapUsed - before;
}

/** A channel that keeps only the ids of the messages that it sends. */
class Sink implements Channel {
  readonly bufferedBytes = 0;
  readonly ids: string[] = [];
  #listener: ChannelListener | undefined;

  listen(listener: ChannelListener): void {
    this.#listener = listener;
  }

  send(text: string): void {
    this.ids.push(/"id":(\d+)}$/.exec(text)?.[1] ?? "");
  }

  hear(message: object): void {
    this.#listener?.message(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  close(): void {
    this.#listener?.end();
  }
}

describe("what a minor collection frees", () => {
  test("calls that have their answer", async () => {
    const channel = new Sink();
    const connection = new Connection(channel, { transport });
    const client = createClient(connection);
    const open: Promise<unknown>[] = [];
    const left = await leftOf(async () => {
      open.push(client.call("sum", numbers()));
      if (open.length < inFlight) return;
      channel.hear({ result: 4_096, id: Number(channel.ids.shift()) });
      await open.shift();
    });
    expect(left).toBeLessThan(4 * MIB);
    for (const id of channel.ids) channel.hear({ result: 4_096, id: Number(id) });
    await Promise.all(open);
    await connection.close();
  });

  describe("calls that were answered", () => {
    test.each(["sum", "count"])("%s, after one was cancelled", async (method) => {
      const held: (() => void)[] = [];
      const hold = (): Promise<void> => new Promise((resolve) => held.push(resolve));
      const service = createServer({
        sum: async (...all: number[]) => {
          await hold();
          return all.length;
        },
        count: stream({}, async function* () {
          yield 1;
          await hold();
          yield 2;
        }),
      });
      const channel = new Sink();
      const connection = new Connection(channel, { service, transport });
      let id = 0;
      const left = await leftOf(async () => {
        channel.hear({ method, params: numbers(), id: ++id });
        if (id === 2) channel.hear({ method: "$/cancelRequest", params: { id: 1 } });
        await turn();
        if (id < inFlight) return;
        held.shift()?.();
        await turn();
      });
      expect(left).toBeLessThan(4 * MIB);
      for (const release of held) release();
      await connection.close();
    });
  });
});
