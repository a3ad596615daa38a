import { closeTimeoutMs } from "./close-code.ts";

/** `ws` takes anything above for no limit at all. */
const largestLimit = 2 ** 31 - 1;
/** Some servers, such as geth, send long messages in fragments of 1 KiB. */
const smallestFragment = 512;
/** Less than the smallest segment of usual networks. */
const smallestChunk = 256;

/**
 * How `ws` reads, on either side. It keeps an object for each fragment and for each chunk of a message, so that
 * their number is limited as well as their bytes.
 */
export function receiverSettings(maxMessageBytes: number) {
  const maxPayload = Math.min(Math.ceil(maxMessageBytes), largestLimit);
  return {
    closeTimeout: closeTimeoutMs,
    // Messages of one chunk arrive in one turn, so that their replies leave together.
    allowSynchronousEvents: true,
    autoPong: false,
    perMessageDeflate: false,
    maxPayload,
    maxFragments: Math.max(64, Math.ceil(maxPayload / smallestFragment)),
    maxBufferedChunks: Math.max(1024, Math.ceil(maxPayload / smallestChunk)),
  };
}
