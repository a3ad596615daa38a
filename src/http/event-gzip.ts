import zlib, { constants, type ZlibOptions } from "node:zlib";
import type { EventSink, EventSource } from "./event-peer.ts";
import { compressionJobs } from "./node-codings.ts";
import type { NodeEventSink } from "./node-event-sink.ts";
import { largeReplyLength } from "./unread-reply.ts";

/** Events repeat parts of earlier ones, nearly always within this many bytes. */
const dictionaryBytes = 2048;
/** A small state, since it is made for each piece. */
const options = {
  level: 1,
  windowBits: 12,
  memLevel: 5,
  chunkSize: 4096,
  finishFlush: constants.Z_SYNC_FLUSH,
};
const longestStored = 65_535;

const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
const lastBlock = [3, 0];

/**
 * A gzip body that is written in pieces, each of which can be read when it arrives. Between two pieces it only keeps the
 * end of the last one, and no state of zlib: that would take much memory for each open stream, and five times as long.
 */
class GzipBody {
  #start: Buffer = head;
  #dictionary = new Uint8Array(0);
  #crc = 0;
  #length = 0;

  /** Counts a piece, and gives what to compress it with. */
  options(bytes: Buffer): ZlibOptions {
    const dictionary = this.#dictionary;
    this.#crc = zlib.crc32(bytes, this.#crc);
    this.#length += bytes.length;
    const recent = bytes.length < dictionaryBytes ? Buffer.concat([dictionary, bytes]) : bytes;
    // A copy, because a part of a Buffer would keep all of it.
    this.#dictionary = new Uint8Array(recent.subarray(-dictionaryBytes));
    return dictionary.length === 0 ? options : { ...options, dictionary };
  }

  /** The piece with what has to come before it. */
  begun(piece: Buffer): Buffer {
    const whole = this.#start.length === 0 ? piece : Buffer.concat([this.#start, piece]);
    this.#start = Buffer.alloc(0);
    return whole;
  }

  end(): Buffer {
    const end = Buffer.alloc(10);
    end.set(lastBlock);
    end.writeUInt32LE(this.#crc, 2);
    end.writeUInt32LE(this.#length % 2 ** 32, 6);
    return this.begun(end);
  }
}

/** The bytes in blocks that are not compressed. */
function stored(bytes: Buffer): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += longestStored) {
    const part = bytes.subarray(at, at + longestStored);
    const start = Buffer.alloc(5);
    start.writeUInt16LE(part.length, 1);
    start.writeUInt16LE(0xffff - part.length, 3);
    blocks.push(start, part);
  }
  return Buffer.concat(blocks);
}

/** Compresses the events of each turn of the event loop together, and sends them at its end. */
export class GzipEventSink implements EventSink {
  readonly #sink: NodeEventSink;
  readonly #source: EventSource;
  readonly #body = new GzipBody();
  #text = "";
  /** Set while another thread compresses a long text; what follows waits for it. */
  #compressing: Promise<void> | undefined = undefined;
  #bytesInWork = 0;
  #isScheduled = false;
  #hasEnded = false;

  constructor(sink: NodeEventSink, source: EventSource) {
    this.#sink = sink;
    this.#source = source;
  }

  get full(): boolean {
    return this.#compressing !== undefined || this.#sink.full;
  }

  get bufferedBytes(): number {
    return this.#text.length + this.#bytesInWork + this.#sink.bufferedBytes;
  }

  write(text: string): void {
    if (this.#hasEnded || !this.#sink.takes(text.length)) return;
    this.#text += text;
    if (this.#text.length > largeReplyLength) this.#send();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
        this.#send();
      });
    }
  }

  flush(): void {
    this.#sink.flush();
  }

  ready(): Promise<void> | undefined {
    return this.#compressing?.then(() => this.ready()) ?? this.#sink.ready();
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#send();
  }

  cut(): void {
    this.#hasEnded = true;
    this.#text = "";
    this.#sink.cut();
  }

  #send(): void {
    if (this.#compressing !== undefined) return;
    if (this.#text !== "") {
      const bytes = Buffer.from(this.#text);
      this.#text = "";
      const how = this.#body.options(bytes);
      if (!this.#source.mayCompress) this.#write(stored(bytes));
      else if (bytes.length > largeReplyLength) {
        this.#compressing = this.#later(bytes, how);
        return;
      } else this.#write(zlib.deflateRawSync(bytes, how));
    }
    if (this.#hasEnded) {
      this.#sink.write(this.#body.end());
      this.#sink.end();
    }
  }

  #write(piece: Buffer): void {
    this.#sink.write(this.#body.begun(piece));
  }

  #later(bytes: Buffer, how: ZlibOptions): Promise<void> {
    this.#bytesInWork = bytes.length;
    return new Promise((resolve) => {
      compressionJobs.run((ended) => {
        zlib.deflateRaw(bytes, how, (error, piece) => {
          ended();
          this.#compressing = undefined;
          this.#bytesInWork = 0;
          if (error === null) {
            this.#write(piece);
            this.#send();
          } else this.cut();
          resolve();
        });
      });
    });
  }
}
