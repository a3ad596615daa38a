import { closeTimeoutMs } from "./close-code.ts";

/** `ws` treats larger values as no limit. */
const largestLimit = 2 ** 31 - 1;
/** Some servers, such as geth, send long messages in fragments of 1 KiB. */
const smallestFragment = 512;
/** Less than the smallest segment of common networks. */
const smallestChunk = 256;

/**
 * Without context takeover, neither side keeps a window for what it sends, and no message reveals what another one holds.
 * Peers that ask for smaller windows are not compressed for.
 */
const deflateSettings = {
  serverNoContextTakeover: true,
  clientNoContextTakeover: true,
  serverMaxWindowBits: false as never,
  clientMaxWindowBits: false as never,
};

/**
 * Options of `ws` for reading, on either side. It keeps an object per fragment and per chunk of a message, so their
 * number is limited as well as their bytes.
 */
export function receiverSettings(maxMessageBytes: number, compress = false) {
  const maxPayload = Math.min(Math.ceil(maxMessageBytes), largestLimit);
  return {
    closeTimeout: closeTimeoutMs,
    // Messages of one chunk are delivered in one turn, so that their replies leave together.
    allowSynchronousEvents: true,
    autoPong: false,
    perMessageDeflate: compress && deflateSettings,
    maxPayload,
    maxFragments: Math.max(64, Math.ceil(maxPayload / smallestFragment)),
    maxBufferedChunks: Math.max(1024, Math.ceil(maxPayload / smallestChunk)),
  };
}
