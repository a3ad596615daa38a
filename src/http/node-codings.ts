import { constants as sizes } from "node:buffer";
import type { Transform } from "node:stream";
import zlib, { constants } from "node:zlib";
import { decodeUtf8 } from "../framing/utf8.ts";
import type { Coding, SentBody } from "./content-coding.ts";
import type { BodyReader, MessageLimits } from "./http-message.ts";
import { JobQueue } from "./job-queue.ts";
import { largeReplyLength } from "./unread-reply.ts";
import { WaitingBytes } from "./waiting-bytes.ts";

type Done = (error: Error | null, bytes: Buffer) => void;

interface InflateLimit {
  readonly maxOutputLength: number;
}

interface Codec {
  inflater(): Transform;
  inflate(bytes: Uint8Array, limit: InflateLimit, done: Done): void;
  deflateSync(text: string): Buffer;
  deflate(body: SentBody, done: Done): void;
}

// Higher levels take two to six times as long, and make JSON at most a tenth smaller; 0 of brotli makes it larger.
const gzipOptions = { level: 1 };
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

const gzip: Codec = {
  inflater: () => zlib.createGunzip(),
  inflate: (bytes, limit, done) => zlib.gunzip(bytes, limit, done),
  deflateSync: (text) => zlib.gzipSync(text, gzipOptions),
  deflate: (body, done) => zlib.gzip(body, gzipOptions, done),
};

const br: Codec = {
  inflater: () => zlib.createBrotliDecompress(),
  inflate: (bytes, limit, done) => zlib.brotliDecompress(bytes, limit, done),
  deflateSync: (text) => zlib.brotliCompressSync(text, brotliOptions),
  deflate: (body, done) => zlib.brotliCompress(body, brotliOptions, done),
};

interface ZstdOptions {
  readonly params: Readonly<Record<number, number>>;
}

/** What Node has since 22.15. */
interface Zstd {
  createZstdDecompress(options: ZstdOptions): Transform;
  zstdDecompress(bytes: Uint8Array, options: ZstdOptions & InflateLimit, done: Done): void;
  zstdCompressSync(text: string, options: ZstdOptions): Buffer;
  zstdCompress(body: SentBody, options: ZstdOptions, done: Done): void;
  readonly constants: {
    readonly ZSTD_c_compressionLevel: number;
    readonly ZSTD_d_windowLogMax: number;
  };
}

function zstd(): Codec | undefined {
  if (!("zstdCompress" in zlib)) return undefined;
  const native = zlib as unknown as Zstd;
  const options = { params: { [native.constants.ZSTD_c_compressionLevel]: 1 } };
  // RFC 9659 allows 8 MiB, and the library 128.
  const window = { params: { [native.constants.ZSTD_d_windowLogMax]: 23 } };
  return {
    inflater: () => native.createZstdDecompress(window),
    inflate: (bytes, limit, done) => native.zstdDecompress(bytes, { ...window, ...limit }, done),
    deflateSync: (text) => native.zstdCompressSync(text, options),
    deflate: (body, done) => native.zstdCompress(body, options, done),
  };
}

const codecs: ReadonlyMap<string, Codec> = new Map(
  Object.entries({ zstd: zstd(), br, gzip }).filter(
    (entry): entry is [string, Codec] => !!entry[1],
  ),
);

/** What Node can compress and inflate, the preferred one first. */
export const nodeCodings = [...codecs.keys()] as readonly Coding[];

/** What inflates a body; undefined if this version of Node cannot. */
export function inflaterOf(coding: string): Transform | undefined {
  return codecs.get(coding)?.inflater();
}

/** Compresses a short text, which takes less time than to let another thread do it. */
export function compressNow(text: string, coding: Coding): Buffer {
  return (codecs.get(coding) as Codec).deflateSync(text);
}

/**
 * As many jobs at a time as Node has threads for them. Each holds a window and tables of up to some megabytes from its
 * start to its end, so that a thousand at once would fill the memory, and they would not end sooner.
 */
export const compressionJobs = new JobQueue(4);

/**
 * Compresses a body in another thread, when its turn comes. `take` returns the body then, or undefined if it is not needed
 * any more.
 */
export function compressLater(take: () => SentBody | undefined, coding: Coding, done: Done): void {
  compressionJobs.run((ended) => {
    const body = take();
    if (body === undefined) {
      ended();
      return;
    }
    (codecs.get(coding) as Codec).deflate(body, (error, bytes) => {
      ended();
      done(error, bytes);
    });
  });
}

/** Compresses a text in the way that takes less time. */
export function compress(text: string, coding: Coding): Promise<Buffer> {
  if (text.length <= largeReplyLength) return Promise.resolve(compressNow(text, coding));
  return new Promise((resolve, reject) => {
    const take = (): string => text;
    compressLater(take, coding, (error, bytes) =>
      error === null ? resolve(bytes) : reject(error),
    );
  });
}

/**
 * Inflates a body that has arrived completely, when its turn comes, to at most `maxMessageBytes`. Inflating it while it
 * arrives would let slow clients hold what an inflater needs: a kilobyte of brotli can make that a megabyte.
 */
export function inflateLater(
  body: Uint8Array,
  coding: Coding,
  { maxMessageBytes, buffers }: Pick<MessageLimits, "maxMessageBytes" | "buffers">,
  reader: BodyReader,
): void {
  const limit = { maxOutputLength: Math.min(maxMessageBytes, sizes.MAX_LENGTH) };
  let sent: Uint8Array | undefined = body;
  const waiting = new WaitingBytes(buffers, () => {
    sent = undefined;
    reader.failed("overload");
  });
  waiting.add(body.length);
  compressionJobs.run((ended) => {
    waiting.release();
    if (sent === undefined) {
      ended();
      return;
    }
    (codecs.get(coding) as Codec).inflate(sent, limit, (error, bytes) => {
      ended();
      if (error === null) reader.received(decodeUtf8(bytes, 0, bytes.length), sent);
      else reader.failed(isTooLong(error) ? "too-large" : "unreadable");
    });
  });
}

function isTooLong(error: Error & { readonly code?: unknown }): boolean {
  return error.code === "ERR_BUFFER_TOO_LARGE";
}
