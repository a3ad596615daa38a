import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Framing } from "../../src/framing/framing.ts";
import { isFull } from "../full.ts";
import { collect } from "../heap.ts";
import { bytesOf, cutAt, inPieces, join, Recording, read, texts } from "./recording.ts";
import { measureWork } from "./work.ts";

const MIB = 1_048_576;

export interface FramingContract {
  readonly name: string;
  readonly framing: Framing;
  /** The bytes before a message of this length. */
  start(bytes: number): Uint8Array;
  /** One frame around any bytes, made without the code under test. */
  frame(body: Uint8Array): Uint8Array;
  /** Pieces of good and bad frames, to be joined at random. */
  readonly fragments: readonly (string | Uint8Array)[];
  /** Whether a message that is too long ends the stream. */
  readonly oversizeIsFatal: boolean;
}

const messages = [
  '{"jsonrpc":"2.0","method":"math/add","params":[2,3],"id":1}',
  '{"jsonrpc":"2.0","method":"greet","params":["grüße 世界 😀"],"id":"é"}',
  '[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]',
  "{}",
];

const notUtf8: readonly (readonly [string, readonly number[]])[] = [
  ["a byte that never occurs", [0xff]],
  ["an overlong slash", [0xc0, 0xaf]],
  ["a surrogate", [0xed, 0xa0, 0x80]],
  ["a character without its end", [0xe2, 0x82]],
  ["a character after the last one", [0xf4, 0x90, 0x80, 0x80]],
];

/** What every framing has to do. */
export function testFraming(contract: FramingContract): void {
  const { framing, start, frame, fragments, oversizeIsFatal } = contract;
  const encodeAll = (list: readonly string[]) => join(...list.map((text) => framing.encode(text)));
  const stream = encodeAll(messages);
  const oversize = oversizeIsFatal ? "fatal oversize" : "oversize";
  // A whole line that lacks only its end is a message, so nothing is cut there.
  const endMark = framing.name === "newline" ? 1 : 0;

  describe("the contract of a framing", () => {
    test("the framing has its name", () => {
      expect(framing.name).toBe(contract.name);
    });

    test("a message has the frame that others expect", () => {
      for (const message of messages) {
        expect(bytesOf(framing.encode(message))).toEqual(frame(bytesOf(message)));
      }
    });

    test("several messages have the same frames as each alone", () => {
      const odd = ["1\n2", "3\r4", '"\u2028"', '"é"', "\ud800", "", "x".repeat(20_000)];
      for (const list of [messages, odd, [...messages, ...odd], ["1", "2"], ["1"]]) {
        expect(bytesOf(framing.encodeAll(list))).toEqual(encodeAll(list));
        for (const each of list) {
          expect(bytesOf(framing.encodeAll(["{}", each]))).toEqual(encodeAll(["{}", each]));
        }
      }
    });

    test("several frames in one chunk come through in order", () => {
      expect(read(framing, [stream])).toEqual(texts(messages));
    });

    test("frames cut at every byte come through", () => {
      for (let cut = 0; cut <= stream.length; cut++) {
        expect(read(framing, cutAt(stream, [cut])), `cut at ${cut}`).toEqual(texts(messages));
      }
    });

    test("frames cut at any two bytes come through", () => {
      const short = encodeAll(['"😀"', "[]"]);
      for (let first = 0; first <= short.length; first++) {
        for (let second = first; second <= short.length; second++) {
          const chunks = cutAt(short, [first, second]);
          expect(read(framing, chunks), `cut at ${first} and ${second}`).toEqual(
            texts(['"😀"', "[]"]),
          );
        }
      }
    });

    test("one byte at a time is enough", () => {
      expect(read(framing, inPieces(stream, 1))).toEqual(texts(messages));
    });

    test("an empty chunk changes nothing", () => {
      const chunks = [...inPieces(stream, 7)].flatMap((chunk) => [new Uint8Array(0), chunk]);
      expect(read(framing, chunks)).toEqual(texts(messages));
      expect(read(framing, [new Uint8Array(0)])).toEqual([]);
    });

    test("the bytes of a chunk may be overwritten once it was taken", () => {
      const recording = new Recording();
      const decoder = framing.decoder({ maxMessageBytes: MIB });
      for (const piece of inPieces(stream, 5)) {
        decoder.push(piece, recording);
        piece.fill(0x78);
      }
      expect(recording.events).toEqual(texts(messages));
    });

    test("a chunk may be a view into the middle of a larger buffer", () => {
      const larger = join("xx", stream, "yy");
      expect(read(framing, [larger.subarray(2, 2 + stream.length)])).toEqual(texts(messages));
    });

    test("a message is handed over as soon as its last byte arrived", () => {
      const recording = new Recording();
      const decoder = framing.decoder({ maxMessageBytes: MIB });
      const bytes = encodeAll(['{"id":1}']);
      decoder.push(bytes.subarray(0, -1), recording);
      expect(recording.events).toEqual([]);
      decoder.push(bytes.subarray(-1), recording);
      expect(recording.events).toEqual(texts(['{"id":1}']));
    });

    test("a decoder is open while a frame is unfinished, and not between two frames", () => {
      const sink = new Recording();
      const decoder = framing.decoder({ maxMessageBytes: MIB });
      const bytes = encodeAll(['{"id":1}']);
      expect(decoder.open).toBe(false);
      for (let round = 0; round < 2; round++) {
        for (const [at, piece] of [...inPieces(bytes, 1)].entries()) {
          decoder.push(piece, sink);
          expect(decoder.open, `after ${at + 1} bytes`).toBe(at + 1 < bytes.length);
        }
        decoder.push(join(bytes, bytes), sink);
        expect(decoder.open).toBe(false);
      }
    });

    test("two decoders share nothing", () => {
      const [one, two] = [new Recording(), new Recording()];
      const first = framing.decoder({ maxMessageBytes: MIB });
      const second = framing.decoder({ maxMessageBytes: MIB });
      for (const piece of inPieces(stream, 3)) {
        first.push(piece, one);
        second.push(piece, two);
      }
      expect(one.events).toEqual(texts(messages));
      expect(two.events).toEqual(texts(messages));
    });

    test("a stream that ends inside a frame is reported, wherever it ends", () => {
      const first = encodeAll(["{}"]);
      const last = encodeAll(['{"a":"é"}']);
      for (let length = 1; length < last.length - endMark; length++) {
        const cut = join(first, last.subarray(0, length));
        expect(read(framing, [cut]), `${length} bytes`).toEqual(["text {}", "fatal truncated"]);
        expect(read(framing, inPieces(cut, 1))).toEqual(["text {}", "fatal truncated"]);
      }
    });

    test("an end of the stream that arrives twice is reported once", () => {
      const bytes = encodeAll(['{"a":1}']);
      for (let length = 1; length < bytes.length - endMark; length++) {
        const recording = new Recording();
        const decoder = framing.decoder({ maxMessageBytes: MIB });
        decoder.push(bytes.subarray(0, length), recording);
        decoder.end(recording);
        decoder.end(recording);
        expect(recording.events).toEqual(["fatal truncated"]);
        expect(recording.faults[0]?.message).toBe("The stream ended in the middle of a message.");
      }
    });

    test("a stream that ends between two frames is not a fault", () => {
      expect(read(framing, [])).toEqual([]);
      expect(read(framing, [encodeAll(["{}"])])).toEqual(["text {}"]);
    });

    test.each(notUtf8)("%s makes only its own frame faulty", (_, bad) => {
      const body = join('"', new Uint8Array(bad), '"');
      const bytes = join(encodeAll(["1", "2"]), frame(body), encodeAll(["3"]), frame(body));
      const expected = ["text 1", "text 2", "encoding", "text 3", "encoding"];
      expect(read(framing, [bytes])).toEqual(expected);
      expect(read(framing, inPieces(bytes, 1))).toEqual(expected);
      expect(read(framing, inPieces(bytes, 16))).toEqual(expected);
    });

    test("a byte order mark stays in the text, where JSON.parse refuses it", () => {
      const bytes = encodeAll(["\ufeff{}", "{}"]);
      expect(read(framing, [bytes])).toEqual(["text \ufeff{}", "text {}"]);
      expect(read(framing, inPieces(bytes, 1))).toEqual(["text \ufeff{}", "text {}"]);
    });

    test("the limit counts bytes, and the last allowed byte is allowed", () => {
      const full = `"${"é".repeat(7)}"`;
      for (const size of [1, 5, 1_000]) {
        const chunks = [...inPieces(encodeAll([full, "1"]), size)];
        expect(read(framing, chunks, 16)).toEqual(texts([full, "1"]));
        expect(read(framing, chunks, 15)).toEqual(
          oversizeIsFatal ? [oversize] : [oversize, "text 1"],
        );
      }
    });

    test("a message that is too long is reported once, and the next one is read if it can be", () => {
      const long = "x".repeat(100);
      const bytes = encodeAll(["1", long, "2", long]);
      const expected = oversizeIsFatal
        ? ["text 1", oversize]
        : ["text 1", oversize, "text 2", oversize];
      for (const size of [1, 16, 1_000]) {
        expect(read(framing, inPieces(bytes, size), 16), `pieces of ${size}`).toEqual(expected);
      }
    });

    test("a fault is one sentence without content of the message", () => {
      const recording = new Recording();
      const decoder = framing.decoder({ maxMessageBytes: 16 });
      decoder.push(join(frame(bytesOf("\xff secret")), frame(new Uint8Array([0xff]))), recording);
      decoder.push(frame(bytesOf("secret".repeat(9))), recording);
      expect(recording.faults.map(({ kind }) => kind)).toEqual(["encoding", "oversize"]);
      for (const { message } of recording.faults) {
        expect(message).toMatch(/^[A-Z][^.]*\.$/);
        expect(message).not.toContain("secret");
      }
      expect(recording.faults[1]?.message).toContain("16 bytes");
    });

    test("a message that is too long is not kept in memory", () => {
      const recording = new Recording();
      const decoder = framing.decoder({ maxMessageBytes: MIB });
      const piece = new Uint8Array(65_536).fill(0x78);
      const before = process.memoryUsage().arrayBuffers;
      decoder.push(start(60 * MIB), recording);
      for (let sent = 0; sent < 59 * MIB; sent += piece.length) decoder.push(piece, recording);
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * MIB);
      expect(recording.events).toEqual([oversize]);
    });

    test("a message that was announced takes no memory before it arrives", () => {
      const bytes = join(start(MIB), "x");
      const before = process.memoryUsage().arrayBuffers;
      const decoders = Array.from({ length: 100 }, () => framing.decoder({ maxMessageBytes: MIB }));
      for (const decoder of decoders) decoder.push(bytes, new Recording());
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * MIB);
    });

    test("long messages that were read leave no memory behind", async () => {
      const bytes = frame(new Uint8Array(MIB).fill(0x78));
      const pieces = [...inPieces(bytes, 65_536)];
      collect();
      const before = process.memoryUsage().arrayBuffers;
      const decoders = Array.from({ length: 30 }, () => framing.decoder({ maxMessageBytes: MIB }));
      for (const decoder of decoders) {
        for (const piece of pieces) decoder.push(piece, { text() {}, fault() {} });
      }
      // Otherwise thirty times 1 MiB would be kept, and this would never end. Freed buffers are
      // counted until they are swept, which happens in the background and takes a while.
      do {
        await new Promise((resolve) => setImmediate(resolve));
        collect();
      } while (process.memoryUsage().arrayBuffers - before >= 15 * MIB);
      expect(decoders).toHaveLength(30);
    });

    test("10 MB in chunks of 1 KB are read with linear work", () => {
      const long = `"${"é".repeat(5_000_000)}"`;
      const bytes = encodeAll([long, "1"]);
      const chunks = [...inPieces(bytes, 1_024)];
      let events: string[] = [];
      const work = measureWork(() => {
        events = read(framing, chunks, 16 * MIB);
      });
      expect(events.map((event) => event.length)).toEqual([long.length + 5, 6]);
      expect(work.decoded).toBeLessThan(1.1 * bytes.length);
      // A buffer that doubles copies each byte once on arrival and at most twice while growing.
      expect(work.copied).toBeLessThan(3.1 * bytes.length);
      expect(work.searched).toBeLessThan(2.1 * bytes.length);
    });

    test("a message that arrives byte by byte is read with linear work", () => {
      const bytes = encodeAll([`"${"x".repeat(100_000)}"`]);
      const chunks = [...inPieces(bytes, 1)];
      const work = measureWork(() => {
        read(framing, chunks);
      });
      expect(work.decoded).toBeLessThan(1.1 * bytes.length);
      expect(work.copied).toBeLessThan(3.1 * bytes.length);
      expect(work.searched).toBeLessThan(2.1 * bytes.length);
    });

    test.each([64, 1_000, 65_536])(
      "many messages in chunks of %i bytes are decoded at most twice",
      (size) => {
        const list = Array.from(
          { length: 20_000 },
          (_, id) => `{"id":${id},"é":"${"x".repeat(id % 90)}"}`,
        );
        const bytes = encodeAll(list);
        const chunks = [...inPieces(bytes, size)];
        let events: string[] = [];
        const work = measureWork(() => {
          events = read(framing, chunks);
        });
        expect(events).toEqual(texts(list));
        expect(work.decoded).toBeLessThan(2 * bytes.length);
        expect(work.copied).toBeLessThan(2 * bytes.length);
        expect(work.searched).toBeLessThan(2.1 * bytes.length);
      },
    );

    test("frames that lie in one chunk are not copied", () => {
      const chunk = encodeAll(Array.from({ length: 100 }, (_, id) => `{"é":${id}}`));
      const work = measureWork(() => {
        expect(read(framing, [chunk])).toHaveLength(100);
      });
      expect(work.copied).toBe(0);
    });

    test("any messages, cut anywhere, are read unchanged", () => {
      const message = fc.oneof(
        fc.json({ stringUnit: "binary" }),
        fc.string({ unit: "binary", maxLength: 50 }).map((text) => JSON.stringify(text)),
      );
      fc.assert(
        fc.property(fc.array(message), fc.array(fc.nat({ max: 5_000 })), (list, cuts) => {
          const bytes = encodeAll(list);
          const chunks = cutAt(
            bytes,
            cuts.map((cut) => cut % (bytes.length + 1)),
          );
          const values = read(framing, chunks).map((event) => JSON.parse(event.slice(5)));
          expect(values).toEqual(list.map((text) => JSON.parse(text)));
        }),
        { numRuns: isFull ? 500 : 100 },
      );
    });

    test("any bytes give the same outcome wherever they are cut", () => {
      const fragment = fc.oneof(
        {
          weight: 4,
          arbitrary: fc.constantFrom(
            ...fragments,
            ...notUtf8.map(([, bad]) => new Uint8Array(bad)),
          ),
        },
        { weight: 2, arbitrary: fc.string({ maxLength: 12 }).map((text) => frame(bytesOf(text))) },
        { weight: 1, arbitrary: fc.uint8Array({ maxLength: 12 }) },
      );
      fc.assert(
        fc.property(
          fc.array(fragment, { maxLength: 12 }),
          fc.array(fc.nat({ max: 200 })),
          (parts, cuts) => {
            const bytes = join(...parts);
            const whole = read(framing, [bytes], 8);
            expect(
              read(
                framing,
                cutAt(
                  bytes,
                  cuts.map((cut) => cut % (bytes.length + 1)),
                ),
                8,
              ),
            ).toEqual(whole);
            expect(read(framing, inPieces(bytes, 1), 8)).toEqual(whole);
            const fatal = whole.findIndex((event) => event.startsWith("fatal"));
            if (fatal !== -1) expect(fatal).toBe(whole.length - 1);
          },
        ),
        { numRuns: isFull ? 3_000 : 500 },
      );
    });
  });
}
