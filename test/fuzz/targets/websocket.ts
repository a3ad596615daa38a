import { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { silentLog } from "../../../src/protocol/log.ts";
import { createServer } from "../../../src/server/server.ts";
import { IncomingFrames, textFrames } from "../../../src/transports/ws/frames.ts";
import { wsUpgrade } from "../../../src/transports/ws/upgrade.ts";
import { cut, pieceLengths } from "../json.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";
import { payload } from "./answer.ts";

const service = createServer(
  {
    echo: (...params: unknown[]) => params,
  },
  { discover: false, log: silentLog, overload: false, limits: { maxMessageBytes: 20_000 } },
);
const upgrade = wsUpgrade(service, { maxConnections: 1e9, maxConnectionsPerAddress: 1e9 });

/** A socket in memory. */
class Line extends Duplex {
  readonly written: Buffer[] = [];

  override _read(): void {}

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.written.push(chunk);
    done();
  }

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }
}

interface Input {
  /** The texts of the messages, if the frames are valid. */
  readonly texts?: readonly string[];
  readonly bytes: string;
  readonly pieces: readonly number[];
}

/** The bytes of a client after the upgrade: frames as in RFC 6455, and broken ones. */
export const webSocket = fuzzTarget<Input>({
  holds:
    "valid frames, however they are cut, fragmented and mixed with pings, have the replies that their messages have elsewhere; broken ones are answered with valid frames and a close; nothing throws",
  briefly: 500,
  atOnce: 50,
  reaches: ["answered", "closed"],
  generate(random) {
    const texts = random.some(4, () =>
      payload(random)
        .slice(0, 2_000)
        .replace(/\p{Surrogate}/gu, "?"),
    );
    const bytes = texts.map((text) => messageFrames(random, text)).join("");
    const pieces = bytes.length > 1_000 ? [1 + random.below(500)] : pieceLengths(random);
    if (random.oneIn(2)) return { texts, bytes, pieces };
    return { bytes: damaged(random, bytes), pieces };
  },
  async check({ texts, bytes, pieces }) {
    const line = new Line();
    line.on("error", () => {});
    const request = Object.assign(new EventEmitter(), {
      method: "GET",
      url: "/",
      headers: {
        host: "localhost",
        upgrade: "websocket",
        connection: "upgrade",
        "sec-websocket-version": "13",
        "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
      },
      socket: line,
    });
    await upgrade(request as unknown as IncomingMessage, line, Buffer.alloc(0));
    await turns();
    line.written.length = 0;
    for (const piece of cut(Buffer.from(bytes, "latin1"), pieces)) line.push(Buffer.from(piece));
    await turns();
    const frames = readFrames(Buffer.concat(line.written));
    line.destroy();
    const isClosed = frames.some(({ code }) => code === 8);
    if (texts !== undefined) await compare(texts, frames, isClosed);
    return isClosed ? "closed" : "answered";
  },
});

/** Messages that are not JSON count as strikes, so a connection may be closed, but only after ten. */
async function compare(texts: readonly string[], frames: readonly Frame[], isClosed: boolean) {
  const wanted: string[] = [];
  for (const text of texts) {
    const reply = await service.receive(text);
    if (reply !== undefined) wanted.push(reply);
  }
  const given = frames.filter(({ code }) => code === 1).map(({ payload }) => payload.toString());
  const hasReplies = texts.some((text) => /"(?:result|error)"/.test(text));
  if (isClosed || hasReplies) return;
  if (JSON.stringify(given.sort()) !== JSON.stringify(wanted.sort())) {
    broken("replies differ", { given, wanted });
  }
}

/** Replies are written with the next tick, and read by the stream in turns. */
async function turns(): Promise<void> {
  for (let i = 0; i < 8; i++) await new Promise((resolve) => setImmediate(resolve));
}

interface Frame {
  readonly code: number;
  readonly payload: Buffer;
}

/** What the server wrote must be whole frames without a mask. */
function readFrames(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [first = 0, second = 0] = bytes.subarray(at);
    const size = second & 0x7f;
    const start = at + (size < 126 ? 2 : size === 126 ? 4 : 10);
    const length =
      size < 126
        ? size
        : size === 126
          ? bytes.readUInt16BE(at + 2)
          : Number(bytes.readBigUInt64BE(at + 2));
    const isValid =
      (first & 0xf0) === 0x80 && (second & 0x80) === 0 && start + length <= bytes.length;
    if (!isValid) broken("not a frame of a server", { at, bytes: bytes.toString("latin1") });
    frames.push({ code: first & 15, payload: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return frames;
}

/** One message, in one frame or in fragments with pings between them. */
function messageFrames(random: Random, text: string): string {
  if (random.oneIn(3)) return textFrames([text], true).toString("latin1");
  const bytes = Buffer.from(text);
  const marks = [0, random.below(bytes.length + 1), bytes.length];
  if (random.oneIn(2)) marks.splice(1, 1);
  return marks
    .slice(1)
    .map((end, i) => {
      const isLast = i === marks.length - 2;
      const code = (i === 0 ? 1 : 0) | (isLast ? 0x80 : 0);
      const ping = random.oneIn(4) ? frame(random, 0x89, Buffer.from("hi")) : "";
      return frame(random, code, bytes.subarray(marks[i], end)) + (isLast ? "" : ping);
    })
    .join("");
}

function frame(random: Random, first: number, payload: Buffer): string {
  const mask = Buffer.from([random.below(256), 1, 2, random.below(256)]);
  const { length } = payload;
  const head = length < 126 ? [first, 0x80 | length] : [first, 0xfe, length >> 8, length & 255];
  const masked = payload.map((byte, i) => byte ^ (mask[i & 3] as number));
  return Buffer.concat([Buffer.from(head), mask, masked]).toString("latin1");
}

const odd = [
  ...["\x88\x80abcd", "\x88\x82abcd\x62\x8a", "\x88\x81abcda", "\x8a\x80abcd", "\x89\xfeabcd"],
  ...[
    "\x82\x81abcda",
    "\x01\x80abcd",
    "\x80\x80abcd",
    "\xc1\x81abcda",
    "\x83\x80abcd",
    "\x81\x01a",
  ],
  ...[
    "\x81\xff\x00\x00\x00\x01\x00\x00\x00\x00abcd",
    "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xffabcd",
  ],
  ...["\x81\x82abcd\xff\xff", "\x81\xfe\xff\xffabcd", "\x00", "\xff", "GET / HTTP/1.1\r\n\r\n"],
];

function damaged(random: Random, bytes: string): string {
  const at = random.below(bytes.length + 1);
  const inserted = random.oneIn(2) ? random.pick(odd) : String.fromCharCode(random.below(256));
  return bytes.slice(0, at) + inserted + bytes.slice(at + random.below(3));
}

interface Followed {
  readonly frames: readonly { readonly code: number; readonly length: number }[];
  readonly pieces: readonly number[];
}

/** The headers of frames, which show how much of a message has arrived. */
export const webSocketFrames = fuzzTarget<Followed>({
  holds:
    "whether a message is open, and how many bytes of control frames are in it, follows from the frames alone",
  briefly: 18_000,
  reaches: ["open", "between messages"],
  generate: (random) => ({
    frames: random
      .some(8, () => ({
        code: random.pick([0x81, 0x01, 0x00, 0x80, 0x89, 0x8a, 0x82]),
        length: random.oneIn(50) ? 66_000 : random.pick([0, 1, 5, 125, 126, 300]),
      }))
      .map(({ code, length }) => ({ code, length: code > 0x88 ? Math.min(length, 125) : length })),
    pieces: [1 + random.below(2_000), 1 + random.below(100)],
  }),
  check({ frames, pieces }) {
    let isOpen = false;
    let controls = 0;
    const parts = frames.map(({ code, length }) => {
      const size = 2 + (length < 126 ? 0 : length < 65_536 ? 2 : 8) + 4;
      const isControl = (code & 15) >= 8;
      if (isControl) controls += isOpen ? size + length : 0;
      else {
        isOpen = (code & 0x80) === 0;
        if (!isOpen) controls = 0;
      }
      const bytes = Buffer.alloc(size + length);
      bytes[0] = code;
      bytes[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127);
      if (length >= 65_536) bytes.writeBigUInt64BE(BigInt(length), 2);
      else if (length >= 126) bytes.writeUInt16BE(length, 2);
      return bytes;
    });
    const followed = new IncomingFrames();
    for (const piece of cut(Buffer.concat(parts), pieces)) followed.push(piece);
    const { messageOpen, controlBytes } = followed;
    if (messageOpen !== isOpen || controlBytes !== controls) {
      broken("followed wrongly", { messageOpen, isOpen, controlBytes, controls });
    }
    return isOpen ? "open" : "between messages";
  },
});
