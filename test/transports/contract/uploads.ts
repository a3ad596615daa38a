import { deepStrictEqual } from "node:assert";
import { createClient, ErrorCode } from "callwire";
import { describe, expect, test } from "vitest";
import { isFull } from "../../full.ts";
import { oneOfEach } from "../../rich-values.ts";
import { socketBytes } from "../socket-bytes.ts";
import { standstill } from "../standstill.ts";
import type { Inbox } from "./inbox.ts";
import { deferred, Session, type Wire } from "./wire.ts";

/** A source that reports how many items were taken, and when its reader left. */
class Source<Item> implements AsyncIterableIterator<Item> {
  taken = 0;
  readonly left: Promise<void>;
  readonly #item: (i: number) => Item | Promise<Item>;
  readonly #leave: () => void;
  #awaited = { count: 0, resolve: () => {} };

  constructor(item: (i: number) => Item | Promise<Item>) {
    this.#item = item;
    const { promise, resolve } = deferred();
    this.left = promise;
    this.#leave = resolve;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Item>> {
    const i = this.taken++;
    if (this.taken === this.#awaited.count) this.#awaited.resolve();
    return { done: false, value: await this.#item(i) };
  }

  /** Resolves when this many items were taken. */
  reached(count: number): Promise<void> {
    const { promise, resolve } = deferred();
    this.#awaited = { count, resolve };
    if (this.taken >= count) resolve();
    return promise;
  }

  return(): Promise<IteratorResult<Item>> {
    this.#leave();
    return Promise.resolve({ done: true, value: undefined });
  }
}

async function* upTo(to: number): AsyncGenerator<number> {
  for (let i = 0; i < to; i++) yield i;
}

/** The reply, after any number of notifications. */
async function replyIn(inbox: Inbox): Promise<Record<string, unknown>> {
  let message = await inbox.message();
  while (message["id"] === undefined) message = await inbox.message();
  return message;
}

const never = new Promise<never>(() => {});

/** Items that a client sends while its call runs. */
export function testUploads(wire: Wire): void {
  const { duplex = true, measured = true, uploads = duplex ? "credit" : "none", hops = 1 } = wire;
  if (uploads === "none") return;
  const bytes = uploads === "credit" ? 0 : 16 * 1024;
  const most =
    uploads === "credit" ? 200 * hops : (hops * (2 * socketBytes + 8 * 1024 * 1024)) / bytes;

  describe("uploads", () => {
    test("items arrive in order, and then the handler answers", async () => {
      const client = await (await Session.start(wire)).client();
      const length = isFull ? 20_000 : 1000;
      expect(await client.api.sum(undefined, { upload: upTo(length) })).toBe(
        (length * (length - 1)) / 2,
      );
      expect(await client.call("sum", undefined, { upload: [] })).toBe(0);
    });

    test("both directions flow at once", async () => {
      const client = await (await Session.start(wire)).client();
      const words = [deferred<string>(), deferred<string>(), deferred<string>()];
      const source = new Source((i) => words[i]?.promise ?? never);
      const heard: unknown[] = [];
      words[0]?.resolve("word 0");
      for await (const word of client.api.parrot(undefined, { upload: source })) {
        heard.push(word);
        if (heard.length === words.length) break;
        words[heard.length]?.resolve(`word ${heard.length}`);
      }
      expect(heard).toEqual(["word 0", "word 1", "word 2"]);
      await source.left;
    });

    test("several uploads flow side by side with calls", async () => {
      const client = await (await Session.start(wire)).client();
      const lengths = [300, 1, 0, 64, 65];
      const sums = lengths.map((to) => client.api.sum(undefined, { upload: upTo(to) }));
      expect(await client.call("echo", ["hi"])).toBe("hi");
      expect(await Promise.all(sums)).toEqual([44850, 0, 0, 2016, 2080]);
    });

    test("a handler that reads enough answers, and the source is left", async () => {
      const client = await (await Session.start(wire)).client();
      const some = new Source((i) => (i < 100 ? i : never));
      const params = { key: "some", count: 3 };
      expect(await client.api.first_of(params, { upload: some })).toEqual([0, 1, 2]);
      await some.left;
      const none = new Source((i) => (i < 100 ? i : never));
      expect(await client.api.first_of({ key: "none", count: 0 }, { upload: none })).toEqual([]);
      await none.left;
    });

    test("a handler that does not read stops the source, and starts it again by reading", async () => {
      const client = await (await Session.start(wire)).client();
      const filler = "x".repeat(bytes);
      const source = new Source(() => filler);
      const controller = new AbortController();
      const options = { upload: source, signal: controller.signal };
      const call = client.api.swallow({ key: "slow" }, options);
      await client.api.seen({ event: "slow started" });
      const taken = async (): Promise<number> => source.taken;
      const halted = await standstill(taken);
      expect(halted).toBeLessThan(most);
      await client.api.note({ event: "slow read" });
      await source.reached(halted + 1);
      controller.abort();
      await expect(call).rejects.toMatchObject({ code: "ABORTED" });
      await source.left;
      await client.api.seen({ event: "slow aborted" });
    });

    test("a signal ends an upload on both sides", async () => {
      const client = await (await Session.start(wire)).client();
      const controller = new AbortController();
      const source = new Source((i) => (i === 0 ? "first" : never));
      const options = { upload: source, signal: controller.signal };
      const call = client.api.swallow({ key: "cut" }, options);
      await client.api.seen({ event: "cut started" });
      await client.api.note({ event: "cut read" });
      controller.abort();
      await expect(call).rejects.toMatchObject({ code: "ABORTED" });
      await source.left;
      await client.api.seen({ event: "cut aborted" });
    });

    test("a deadline ends an upload on both sides", async () => {
      const client = await (await Session.start(wire)).client();
      await client.api.note({ event: "late read" });
      const source = new Source((i) => (i === 0 ? "first" : never));
      const call = client.api.swallow({ key: "late" }, { upload: source, timeoutMs: 200 });
      await expect(call).rejects.toSatisfy(
        ({ code }) => code === "TIMEOUT" || code === ErrorCode.RequestTimeout,
      );
      await source.left;
      // On a slow machine it may not have started.
      if ((await client.api.counted({ key: "late" })) > 0)
        await client.api.seen({ event: "late aborted" });
    });

    test("an error of the source ends the call on both sides", async () => {
      const client = await (await Session.start(wire)).client();
      await client.api.note({ event: "torn read" });
      const cause = new Error("the microphone is gone");
      const torn = deferred();
      const source = (async function* () {
        yield "first";
        await torn.promise;
        throw cause;
      })();
      const call = client.api.swallow({ key: "torn" }, { upload: source });
      await client.api.seen({ event: "torn started" });
      torn.resolve();
      await expect(call).rejects.toMatchObject({ code: "ABORTED", cause });
      await client.api.seen({ event: "torn aborted" });
    });

    test("an item that does not match its schema is thrown in the handler", async () => {
      const client = await (await Session.start(wire)).client();
      const source = new Source((i) => (i === 0 ? 1 : i === 1 ? "two" : never));
      const call = client.call<number>("sum", undefined, { upload: source });
      await expect(call).rejects.toMatchObject({
        code: ErrorCode.InvalidParams,
        data: { of: "an item of the upload" },
      });
      await source.left;
    });

    test("an upload to a method without one, and a missing upload, are refused", async () => {
      const client = await (await Session.start(wire)).client();
      const source = new Source((i) => (i < 100 ? i : never));
      await expect(client.call<unknown>("echo", ["hi"], { upload: source })).rejects.toMatchObject({
        code: ErrorCode.InvalidParams,
      });
      await source.left;
      await expect(client.call<unknown>("sum")).rejects.toMatchObject({
        code: ErrorCode.InvalidParams,
      });
    });

    test("items are rich values if the client asks for them", async () => {
      const session = await Session.start(wire);
      const { link } = await session.connect();
      const client = createClient(link, { values: "rich" });
      const items = Object.values(oneOfEach);
      const heard: unknown[] = [];
      for await (const item of client.stream<unknown>("parrot", undefined, { upload: items })) {
        heard.push(item);
      }
      deepStrictEqual(heard, items);
    });

    test("items may have files in them", async () => {
      const session = await Session.start(wire);
      const { link } = await session.connect();
      const client = createClient(link, { values: "rich" });
      const upload = [{ photo: new File(["sea"], "sea.jpg") }];
      const texts: string[] = [];
      for await (const item of client.stream<{ photo: File }>("parrot", undefined, { upload })) {
        texts.push(`${item.photo.name}: ${await item.photo.text()}`);
      }
      expect(texts).toEqual(["sea.jpg: sea"]);
    });

    test("a client that disconnects ends the handler's loop", async () => {
      const session = await Session.start(wire);
      if (wire.shared === false) return;
      const watcher = await session.client();
      const { client, kill } = await session.connect();
      await watcher.api.note({ event: "gone read" });
      const source = new Source((i) => (i === 0 ? "first" : never));
      const call = client.api.swallow({ key: "gone" }, { upload: source });
      call.catch(() => {});
      await watcher.api.seen({ event: "gone started" });
      kill();
      await watcher.api.seen({ event: "gone aborted" });
    });

    test("a server that disconnects ends the call, and its source is closed", async () => {
      const session = await Session.start(wire);
      const client = await session.client();
      await client.api.note({ event: "dead read" });
      const source = new Source((i) => (i === 0 ? "first" : never));
      const call = client.api.swallow({ key: "dead" }, { upload: source });
      const failed = expect(call).rejects.toBeInstanceOf(Error);
      await client.api.seen({ event: "dead started" });
      await session.host.kill();
      await failed;
      await source.left;
    });

    // A plain client of NATS has no subject for the uploads of its calls.
    if (duplex && measured) {
      test("items are notifications, for which the server gives credit", async () => {
        const session = await Session.start(wire);
        const raw = await session.raw();
        raw.send('{"jsonrpc":"2.0","method":"sum","id":1,"upload":true}');
        expect(await raw.inbox.message()).toEqual({
          jsonrpc: "2.0",
          method: "$/uploadCredit",
          params: { id: 1, count: 8 },
        });
        for (const value of [1, 2, 3]) {
          raw.send(`{"jsonrpc":"2.0","method":"$/upload","params":{"id":1,"value":${value}}}`);
        }
        raw.send('{"jsonrpc":"2.0","method":"$/upload","params":{"id":1,"done":true}}');
        expect(await replyIn(raw.inbox)).toEqual({ jsonrpc: "2.0", result: 6, id: 1 });
      });

      test("a client that ignores credit is disconnected", async () => {
        const session = await Session.start(wire);
        const raw = await session.raw();
        raw.send(
          '{"jsonrpc":"2.0","method":"swallow","params":{"key":"wild"},"id":1,"upload":true}',
        );
        await raw.inbox.next();
        for (let i = 0; i < 100; i++) {
          raw.send('{"jsonrpc":"2.0","method":"$/upload","params":{"id":1,"value":0}}');
        }
        expect(await replyIn(raw.inbox)).toMatchObject({
          id: 1,
          error: { code: ErrorCode.InvalidRequest },
        });
      });
    }
  });
}
