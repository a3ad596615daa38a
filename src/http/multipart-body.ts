import { type Attached, type Attachments, attachedIn } from "../protocol/attachments.ts";
import type { Request } from "../protocol/message.ts";
import { SentBytes } from "../protocol/sent-bytes.ts";
import type { HeaderRecord } from "./client-exchange.ts";

/** A message and the bytes beside it, as the body of a request or a reply. */
export interface MultipartBody {
  readonly contentType: string;
  /** Undefined if the length of a stream is not known. */
  readonly length: number | undefined;
  /** Reads the body until the signal aborts; `sent` gets the length of each chunk. */
  stream(sent?: (bytes: number) => void, signal?: AbortSignal): ReadableStream<Uint8Array>;
  /** The body as a Blob, which browsers send without reading it into memory; undefined if it has a stream. */
  blob(): Blob | undefined;
}

const encoder = new TextEncoder();

/** After this many chunks, other work gets a turn. */
const chunksPerTurn = 64;

/** What a request carries beside its message. */
export function attachedTo({ params, types }: Request): Attached[] {
  return attachedIn(params, types ?? {});
}

/**
 * Headers of a request with files beside its message. An HTML form cannot send the second, so servers accept only requests
 * that have it.
 */
export function uploadHeaders(contentType: string, count: number): HeaderRecord {
  return { "content-type": contentType, "rpc-attachments": `${count}` };
}

export function multipartBody(
  text: string,
  attached: readonly Attached[],
  attachments: Attachments,
): MultipartBody {
  // Random, so that no file contains it.
  const boundary = `callwire-${crypto.randomUUID()}`;
  const head = encoder.encode(
    `--${boundary}\r\nContent-Disposition: form-data; name="message"\r\n` +
      `Content-Type: application/json\r\n\r\n${text}`,
  );
  const parts = attached.map((each) => ({
    ...each,
    head: encoder.encode(`\r\n--${boundary}\r\n${partHead(each)}\r\n\r\n`),
  }));
  const tail = encoder.encode(`\r\n--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    length: parts.every(({ size }) => size !== undefined)
      ? parts.reduce((sum, { head, size = 0 }) => sum + head.length + size, head.length) +
        tail.length
      : undefined,
    blob: () => wholeBody(head, parts, tail, attachments),
    stream: (sent, signal) => streamed(bodyChunks(head, parts, tail, attachments, signal), sent),
  };
}

type Part = Attached & { readonly head: Uint8Array<ArrayBuffer> };

function wholeBody(
  head: Uint8Array<ArrayBuffer>,
  parts: readonly Part[],
  tail: Uint8Array<ArrayBuffer>,
  attachments: Attachments,
): Blob | undefined {
  if (!(attachments instanceof SentBytes)) return undefined;
  const all: BlobPart[] = [head];
  for (const { head, part } of parts) {
    const whole = attachments.whole(part);
    if (whole === undefined) return undefined;
    all.push(head, whole as BlobPart);
  }
  return new Blob([...all, tail]);
}

async function* bodyChunks(
  head: Uint8Array,
  parts: readonly Part[],
  tail: Uint8Array,
  attachments: Attachments,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  // Node's fetch continues to read a body after it was aborted.
  const stop = (): void => void reader?.cancel().catch(() => {});
  signal?.addEventListener("abort", stop, { once: true });
  try {
    yield head;
    for (const { head, part, size } of parts) {
      yield head;
      let length = 0;
      reader = attachments.open(part).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        signal?.throwIfAborted();
        if (done) break;
        length += value.length;
        yield value;
      }
      reader = undefined;
      if (size !== undefined && length !== size) {
        throw new TypeError(`part ${part} has ${length} bytes, not ${size}`);
      }
    }
    yield tail;
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
    attachments.discard();
  }
}

function streamed(
  chunks: AsyncGenerator<Uint8Array, void, undefined>,
  sent: ((bytes: number) => void) | undefined,
): ReadableStream<Uint8Array> {
  let count = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // Node's fetch reads a body whose connection is gone without a pause, so that nothing else would run.
        if (++count % chunksPerTurn === 0) await new Promise((resolve) => setTimeout(resolve, 0));
        const { done, value } = await chunks.next();
        if (done) {
          controller.close();
          return;
        }
        // Empty chunks end some streams.
        if (value.length === 0) return this.pull?.(controller);
        sent?.(value.length);
        controller.enqueue(value);
      },
      async cancel() {
        await chunks.return();
      },
    },
    { highWaterMark: 0 },
  );
}

function partHead({ part, kind, name, type }: Attached): string {
  const file = kind === "file" && name !== undefined ? name : `${part}`;
  const shown = type === undefined || !/^[\w!#$&^.+/; ="-]+$/.test(type) ? "" : type;
  return (
    `Content-Disposition: form-data; name="${part}"; filename="${escapedName(file)}"\r\n` +
    `Content-Type: ${shown || "application/octet-stream"}`
  );
}

/** As browsers write the names of files. */
function escapedName(name: string): string {
  return name.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}
