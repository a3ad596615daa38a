import { createHash } from "node:crypto";
import { createClient, ErrorCode } from "callwire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isFull } from "../../full.ts";
import type { ContractMethods } from "../contract-methods.ts";
import { socketBytes } from "../socket-bytes.ts";
import { standstill } from "../standstill.ts";
import { deferred, Session, type Wire } from "./wire.ts";

/** A stream that reports how many bytes were read, and when its reader left. */
class Spring {
  taken = 0;
  readonly stream: ReadableStream<Uint8Array>;
  readonly left: Promise<void>;

  constructor(length = Number.POSITIVE_INFINITY, end?: Error) {
    const { promise, resolve } = deferred();
    this.left = promise;
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          const bytes = new Uint8Array(Math.min(65_536, length - this.taken)).fill(3);
          this.taken += bytes.length;
          if (bytes.length > 0) controller.enqueue(bytes);
          else if (end === undefined) controller.close();
          else controller.error(end);
        },
        cancel: () => resolve(),
      },
      { highWaterMark: 0 },
    );
  }
}

function noise(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 8) * 7 + (i >> 16)) & 255;
  return bytes;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function bytesOf(value: Blob | Uint8Array): Promise<Uint8Array> {
  return value instanceof Blob ? new Uint8Array(await value.arrayBuffer()) : value;
}

/** Files, byte arrays and streams of bytes. */
export function testBytes(wire: Wire): void {
  const { beside = false, duplex = true, hops = 1, shared = true, measured = true } = wire;
  const { streams = "credit" } = wire;
  // Inside a message, bytes take a third more than their length.
  const length = beside ? 3_000_000 : 300_000;
  const most = hops * (2 * socketBytes + 10 * 1024 * 1024);

  const rich = async (session: Session) =>
    createClient<ContractMethods>((await session.connect()).link, { values: "rich" });

  describe("bytes", () => {
    test("of a file, a Blob and a stream arrive with what is known about them", async () => {
      const client = await rich(await Session.start(wire));
      const bytes = noise(length);
      const hash = sha256(bytes);
      const type = "image/jpeg";
      const file = new File([bytes], 'a "photo".jpg', { type });
      const { name } = file;
      expect(await client.api.weigh({ file })).toEqual({ size: length, type, name, hash });
      const blob = new Blob([bytes], { type });
      expect(await client.api.weigh({ file: blob })).toMatchObject({ size: length, type, hash });
      await client.api.note({ event: "whole read" });
      expect(await client.api.drink({ key: "whole", bytes: blob.stream() })).toBe(hash);
    });

    test("of any length are returned unchanged, several at once", async () => {
      const client = await rich(await Session.start(wire));
      const lengths = fc.array(fc.oneof(fc.nat(200_000), fc.constantFrom(0, 1, 65_536)), {
        maxLength: 4,
      });
      const comesBack = async (of: number): Promise<void> => {
        const bytes = noise(of);
        const copies = await client.api.copies({ file: new Blob([bytes], { type: "a/b" }) });
        const { size, type } = copies.blob;
        expect([size, type, copies.file.name]).toEqual([of, "a/b", "copy"]);
        for (const copy of Object.values(copies))
          expect(sha256(await bytesOf(copy))).toBe(sha256(bytes));
      };
      await fc.assert(
        fc.asyncProperty(lengths, async (all) => void (await Promise.all(all.map(comesBack)))),
        { numRuns: isFull ? 100 : 5 },
      );
    });

    test("of an empty file and an empty stream are none", async () => {
      const client = await rich(await Session.start(wire));
      const hash = sha256(new Uint8Array(0));
      expect(await client.api.weigh({ file: new Blob([]) })).toMatchObject({ size: 0, hash });
      await client.api.note({ event: "empty read" });
      expect(await client.api.drink({ key: "empty", bytes: new Spring(0).stream })).toBe(hash);
      const poured = await client.api.pour({ key: "dry", length: 0 });
      expect((await poured.getReader().read()).done).toBe(true);
    });

    if (streams !== "none") {
      test("of files and streams arrive in the items of a stream", async () => {
        const client = await rich(await Session.start(wire));
        const bytes = noise(5000);
        const { stream } = new Spring(5000);
        const values = [{ photo: new File([bytes], "sea.jpg", { type: "image/jpeg" }) }, stream];
        const items: unknown[] = [];
        for await (const item of client.stream("items_of", { values })) items.push(item);
        const [{ photo }, copy] = items as [{ photo: File }, ReadableStream];
        expect([photo.name, photo.type]).toEqual(["sea.jpg", "image/jpeg"]);
        expect(sha256(await bytesOf(photo))).toBe(sha256(bytes));
        const copied = new Uint8Array(await new Response(copy).arrayBuffer());
        expect(copied).toEqual(new Uint8Array(5000).fill(3));
      });
    }

    if (duplex) {
      test("reach a client that the server calls", async () => {
        const session = await Session.start(wire);
        const { client } = await session.connect({
          received: async (file: Blob) => [file.size, sha256(await bytesOf(file))],
        });
        const bytes = new Uint8Array(length).fill(5);
        expect(await client.call("delivered", { length })).toEqual([length, sha256(bytes)]);
      });
    }

    if (!beside) return;

    test("flow as they are read: a slow reader stops the sender", async () => {
      const client = await rich(await Session.start(wire));
      const spring = new Spring();
      const controller = new AbortController();
      const params = { key: "slow", bytes: spring.stream };
      const call = client.api.drink(params, { signal: controller.signal });
      await client.api.seen({ event: "slow started" });
      expect(await standstill(() => spring.taken)).toBeLessThan(most);
      controller.abort();
      await expect(call).rejects.toMatchObject({ code: "ABORTED" });
      await spring.left;
      await client.api.note({ event: "slow read" });
      await client.api.seen({ event: "slow broken" });

      const poured = await client.api.pour({ key: "pool", length: 1e12 });
      const reader = poured.getReader();
      await reader.read();
      const counted = () => client.api.counted({ key: "pool" });
      expect(await standstill(counted)).toBeLessThan(most);
      await reader.cancel();
      await client.api.seen({ event: "pool left" });
    });

    test("that a limit forbids are refused while they arrive", async () => {
      const client = await rich(await Session.start(wire));
      await client.api.note({ event: "flood read" });
      const spring = new Spring();
      const call = client.api.drink({ key: "flood", bytes: spring.stream });
      await expect(call).rejects.toMatchObject({
        code: ErrorCode.InvalidRequest,
        data: { limit: "maxFileBytes", max: 5_000_000 },
      });
      await spring.left;
      expect(await client.call("echo", ["hi"])).toBe("hi");
    });

    test("whose source fails end the call", async () => {
      const client = await rich(await Session.start(wire));
      await client.api.note({ event: "torn read" });
      const spring = new Spring(100_000, new Error("the disk is gone"));
      const call = client.api.drink({ key: "torn", bytes: spring.stream });
      await expect(call).rejects.toBeInstanceOf(Error);
      expect(await client.call("echo", ["hi"])).toBe("hi");
    });

    test("that no handler reads are dropped with the reply", async () => {
      const client = await rich(await Session.start(wire));
      const spring = new Spring();
      expect(await client.call("echo", [{ not: "read" }, spring.stream])).toEqual({ not: "read" });
      await spring.left;
    });

    test("report how much was sent", async () => {
      const client = await rich(await Session.start(wire));
      const sent: number[] = [];
      const onUploadProgress = (progress: { sent: number; total: number | undefined }): void => {
        expect(progress.total).toBeGreaterThanOrEqual(length);
        sent.push(progress.sent);
      };
      await client.api.weigh({ file: new Blob([noise(length)]) }, { onUploadProgress });
      expect(sent).toEqual([...sent].sort((a, b) => a - b));
      expect(sent.at(-1)).toBeGreaterThanOrEqual(length);
      expect(sent.length).toBeGreaterThan(1);
    });

    test("end when the client or the server disconnects", async () => {
      const session = await Session.start(wire);
      if (shared && measured) {
        const watcher = await session.client();
        const { link, kill } = await session.connect();
        const leaving = createClient<ContractMethods>(link, { values: "rich" });
        const call = leaving.api.drink({ key: "gone", bytes: new Spring().stream });
        call.catch(() => {});
        await watcher.api.seen({ event: "gone started" });
        kill();
        await watcher.api.note({ event: "gone read" });
        await watcher.api.seen({ event: "gone broken" });
      }
      const client = await rich(session);
      const spring = new Spring();
      const call = client.api.drink({ key: "dead", bytes: spring.stream });
      const failed = expect(call).rejects.toBeInstanceOf(Error);
      const poured = (await client.api.pour({ key: "dead", length: 1e12 })).getReader();
      await poured.read();
      await client.api.seen({ event: "dead started" });
      await session.host.kill();
      await failed;
      await spring.left;
      const drained = async (): Promise<void> => {
        while (!(await poured.read()).done);
      };
      await expect(drained()).rejects.toBeInstanceOf(Error);
    });
  });
}
