import { type Client, RpcError } from "callwire";
import { describe, expect, test } from "vitest";
import { isFull } from "../../full.ts";
import { type ContractMethods, turn } from "../contract-methods.ts";
import { socketBytes } from "../socket-bytes.ts";
import { standstill } from "../standstill.ts";
import { Session, type Wire } from "./wire.ts";

/** More than this in the buffers of a connection through a proxy is not just buffering. */
const mostBufferedBytes = 2 * socketBytes + 8 * 1024 * 1024;
/** How far a producer may be ahead of its reader if credit is given. */
const mostAhead = 2_000;

/** Many items for one call. */
export function testStreams(wire: Wire): void {
  const { duplex = true, shared = true, measured = true, streams = "credit", hops = 1 } = wire;
  if (streams === "none") return;
  // If only full buffers stop a producer, its items must be large enough to fill them.
  const bytes = streams === "credit" ? 0 : 16 * 1024;
  const most = streams === "credit" ? mostAhead : (hops * mostBufferedBytes) / bytes;
  // Each wire of a gateway has carried the long one alone.
  const long = (hops === 1 ? 10_000 : 5_000) * (isFull ? 10 : 1);

  describe("streams", () => {
    test("items arrive in order, and then the stream ends", async () => {
      const client = await (await Session.start(wire)).client();
      const items: unknown[] = [];
      for await (const item of client.api.count({ to: 1000 })) items.push(item);
      expect(items).toEqual(Array.from({ length: 1000 }, (_, i) => i));
    });

    test("a stream may be empty", async () => {
      const client = await (await Session.start(wire)).client();
      for await (const item of client.api.count({ to: 0 })) expect(item).toBe("nothing");
      expect(await client.call("echo", ["still here"])).toBe("still here");
    });

    test("several streams flow side by side", async () => {
      const client = await (await Session.start(wire)).client();
      const read = async (to: number): Promise<number> => {
        let last = -1;
        for await (const item of client.api.count({ to })) {
          expect(item).toBe(last + 1);
          last = item;
        }
        return last + 1;
      };
      const lengths = [500, 100, 300, 1, 0, 200];
      expect(await Promise.all(lengths.map(read))).toEqual(lengths);
    });

    test("an error in the middle arrives after the items before it", async () => {
      const client = await (await Session.start(wire)).client();
      const items: unknown[] = [];
      const reading = (async () => {
        for await (const item of client.api.fails_after({ items: 3 })) items.push(item);
      })();
      await expect(reading).rejects.toEqual(new RpcError(1002, "Broken off", { items: 3 }));
      expect(items).toEqual([0, 1, 2]);
    });

    test("leaving the loop ends the generator, whose finally runs", async () => {
      const client = await (await Session.start(wire)).client();
      for await (const _ of client.api.endless({ key: "left" })) break;
      await client.api.seen({ event: "left left" });
    });

    test("a signal ends a stream on both sides", async () => {
      const client = await (await Session.start(wire)).client();
      const controller = new AbortController();
      const reading = (async () => {
        const items = client.stream("endless", { key: "cut" }, { signal: controller.signal });
        for await (const _ of items) controller.abort();
      })();
      await expect(reading).rejects.toMatchObject({ name: "WireError", code: "ABORTED" });
      await client.api.seen({ event: "cut left" });
    });

    test("a slow reader stops the producer, and starts it again by reading", async () => {
      const client = await (await Session.start(wire)).client();
      const produced = () => client.api.counted({ key: "slow" });
      const items = client.api.endless({ key: "slow", bytes, heard: true })[Symbol.asyncIterator]();
      await items.next();
      await heard(client, "slow");
      const halted = await halt(produced, most);
      for (let i = 1; i < halted; i++) expect((await items.next()).value).toMatchObject({ i });
      await items.next();
      expect(await produced()).toBeGreaterThan(halted);
      await items.return?.();
      await client.api.seen({ event: "slow left" });
    });

    if (streams === "credit") {
      test(`a producer stays close to its reader over ${long.toLocaleString("en")} items`, async () => {
        const client = await (await Session.start(wire)).client();
        let read = 0;
        for await (const item of client.api.counting({ key: "long", to: long })) {
          if (item !== read) expect(item).toBe(read);
          read++;
          if (read === 1) await heard(client, "long");
          if (read % (long / 10) !== 0) continue;
          const ahead = (await client.api.counted({ key: "long" })) - read;
          expect(ahead).toBeLessThan(mostAhead);
        }
        expect(read).toBe(long);
      }, 120_000);
    }

    if (duplex && shared && measured) {
      test("a reader that gives no credit and never reads still stops the producer", async () => {
        const session = await Session.start(wire);
        const client = await session.client();
        const raw = await session.raw();
        raw.pause();
        raw.send(
          '{"jsonrpc":"2.0","method":"endless","params":{"key":"never","bytes":16384},"id":1}',
        );
        const produced = () => client.api.counted({ key: "never" });
        while ((await produced()) === 0) await turn();
        await halt(produced, (hops * mostBufferedBytes) / 16_384);
        raw.kill();
        await client.api.seen({ event: "never left" });
      });
    }
  });
}

/**
 * Lets a producer continue. The first credit was sent with the first item that arrived, and so
 * before this: until credit arrives a producer does not know that there is any, and on a slow
 * machine runs ahead by whatever the wire accepts.
 */
async function heard(client: Client<ContractMethods>, key: string): Promise<void> {
  await client.api.note({ event: `${key} heard` });
}

/** How many items there are once no more arrive; never this many. */
function halt(read: () => Promise<number>, most: number): Promise<number> {
  return standstill(async () => {
    const now = await read();
    expect(now).toBeLessThan(most);
    return now;
  });
}
