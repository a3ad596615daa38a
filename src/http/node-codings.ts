import type { IncomingMessage } from "node:http";
import type { Transform } from "node:stream";
import zlib, { constants } from "node:zlib";
import { BodyBytes } from "./body-bytes.ts";
import type { Coding } from "./content-coding.ts";
import type { BodyFault, BodyReader, MessageLimits } from "./http-message.ts";
import { largeReplyLength } from "./unread-reply.ts";

interface Codec {
  inflater(): Transform;
  deflateSync(text: string): Buffer;
  deflate(text: string, done: (error: Error | null, bytes: Buffer) => void): void;
}

// Higher levels take two to six times as long, and make JSON at most a tenth smaller.
const gzipOptions = { level: 1 };
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } };

const gzip: Codec = {
  inflater: () => zlib.createGunzip(),
  deflateSync: (text) => zlib.gzipSync(text, gzipOptions),
  deflate: (text, done) => zlib.gzip(text, gzipOptions, done),
};

const br: Codec = {
  inflater: () => zlib.createBrotliDecompress(),
  deflateSync: (text) => zlib.brotliCompressSync(text, brotliOptions),
  deflate: (text, done) => zlib.brotliCompress(text, brotliOptions, done),
};

interface ZstdOptions {
  readonly params: Readonly<Record<number, number>>;
}

/** What Node has since 22.15. */
interface Zstd {
  createZstdDecompress(options: ZstdOptions): Transform;
  zstdCompressSync(text: string, options: ZstdOptions): Buffer;
  zstdCompress(
    text: string,
    options: ZstdOptions,
    done: (error: Error | null, bytes: Buffer) => void,
  ): void;
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
  const limit = { params: { [native.constants.ZSTD_d_windowLogMax]: 23 } };
  return {
    inflater: () => native.createZstdDecompress(limit),
    deflateSync: (text) => native.zstdCompressSync(text, options),
    deflate: (text, done) => native.zstdCompress(text, options, done),
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

/** Compresses a text in another thread. */
export function compressLater(
  text: string,
  coding: Coding,
  done: (error: Error | null, bytes: Buffer) => void,
): void {
  (codecs.get(coding) as Codec).deflate(text, done);
}

/** Compresses a text in the way that takes less time. */
export function compress(text: string, coding: Coding): Promise<Buffer> {
  if (text.length <= largeReplyLength) return Promise.resolve(compressNow(text, coding));
  return new Promise((resolve, reject) => {
    compressLater(text, coding, (error, bytes) =>
      error === null ? resolve(bytes) : reject(error),
    );
  });
}

/** Inflates the body of a request while it arrives. The limits hold for both forms of it. */
export function readInflated(
  request: IncomingMessage,
  coding: Coding,
  limits: MessageLimits,
  reader: BodyReader,
): void {
  const inflater = inflaterOf(coding) as Transform;
  const collect = (chunk: Buffer): void => void sent.add(chunk, false);
  const stop = (): void => {
    request.off("data", collect);
    request.unpipe(inflater).resume();
    inflater.destroy();
    sent.discard();
    inflated.discard();
  };
  const fail = (fault: BodyFault): void => {
    stop();
    reader.failed(fault);
  };
  const sent = new BodyBytes(limits, fail);
  const inflated = new BodyBytes(limits, fail);
  inflater.on("data", (chunk: Buffer) => inflated.add(chunk, false));
  inflater.on("error", () => fail("unreadable"));
  inflater.on("end", () => {
    const text = inflated.takeText();
    const bytes = sent.takeBytes();
    // More may follow, which belongs to nothing and would not be read.
    stop();
    reader.received(text, bytes);
  });
  request.once("close", () => {
    if (!request.complete) stop();
  });
  request.on("data", collect);
  request.pipe(inflater);
}
