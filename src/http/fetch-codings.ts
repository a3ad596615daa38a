import type { BodyBytes } from "./body-bytes.ts";
import { chunksOf } from "./client-exchange.ts";
import type { Coding } from "./content-coding.ts";

/** What every `fetch` runtime can compress and inflate; some old ones nothing. */
export const fetchCodings: readonly Coding[] =
  typeof CompressionStream === "undefined" ? [] : ["gzip"];

/** Some runtimes inflate a whole chunk at once, to a thousand times its length. */
const sliceBytes = 1024;

/** The chunks of a body that is inflated while it arrives; `sent` gets it as it was sent. */
export function inflatedChunks(
  body: ReadableStream<Uint8Array> | null,
  sent: BodyBytes,
): AsyncGenerator<Uint8Array> {
  const slices = new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      sent.add(chunk, false);
      if (sent.hasFailed) controller.terminate();
      for (let at = 0; !sent.hasFailed && at < chunk.length; at += sliceBytes) {
        controller.enqueue(chunk.slice(at, at + sliceBytes));
      }
    },
  });
  const inflated = body?.pipeThrough(slices).pipeThrough(new DecompressionStream("gzip"));
  return chunksOf(inflated ?? null);
}

export function compressedStream(text: string): ReadableStream<Uint8Array> {
  const body = new Response(text).body as ReadableStream<Uint8Array<ArrayBuffer>>;
  return body.pipeThrough(new CompressionStream("gzip"));
}
