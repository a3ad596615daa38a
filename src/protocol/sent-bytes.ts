import type { Attachments, ByteKind, ByteValue, Descriptor } from "./attachments.ts";
import type { Reply, Request } from "./message.ts";
import type { ValueCodec } from "./value-codec.ts";

/** Shorter arrays of bytes are part of the message, as base64: a part of their own would take as many bytes. */
export const attachedFromBytes = 16 * 1024;

/** The kind of a value whose bytes travel beside the message. */
export function byteKindOf(value: object): ByteKind | undefined {
  if (typeof Blob !== "undefined" && value instanceof Blob) {
    return typeof File !== "undefined" && value instanceof File ? "file" : "blob";
  }
  const isStream = typeof ReadableStream !== "undefined" && value instanceof ReadableStream;
  return isStream ? "stream" : undefined;
}

/** The bytes of a message that is sent. Streams have the last numbers, because a receiver reads the others at once. */
export class SentBytes implements Attachments {
  readonly #values: { readonly value: ByteValue; readonly json: { part?: number } }[] = [];
  readonly #opened = new Set<unknown>();

  /** Returns what the message says about the value. */
  add(value: ByteValue): Descriptor {
    const json = descriptorOf(value);
    this.#values.push({ value, json });
    return json;
  }

  /** Numbers the parts, after the last value was added. */
  number(): this {
    const isStream = (value: ByteValue): number => (value instanceof ReadableStream ? 1 : 0);
    this.#values.sort((a, b) => isStream(a.value) - isStream(b.value));
    for (const [i, { json }] of this.#values.entries()) json.part = i + 1;
    return this;
  }

  get values(): readonly ByteValue[] {
    return this.#values.map(({ value }) => value);
  }

  open(part: number): ReadableStream<Uint8Array> {
    const { value } = this.#values[part - 1] ?? {};
    if (value === undefined) throw new RangeError(`there is no part ${part}`);
    if (value instanceof Blob) return value.stream();
    if (value instanceof Uint8Array) return streamOf(value);
    if (this.#opened.has(value)) throw new TypeError("the stream was sent before, and is used up");
    this.#opened.add(value);
    return value;
  }

  /** The whole value, if it is not a stream: a runtime may send it without reading it in JavaScript. */
  whole(part: number): Blob | Uint8Array | undefined {
    const { value } = this.#values[part - 1] ?? {};
    return value instanceof ReadableStream ? undefined : value;
  }

  discard(): void {
    for (const { value } of this.#values) {
      if (!(value instanceof ReadableStream) || this.#opened.has(value)) continue;
      this.#opened.add(value);
      if (!value.locked) value.cancel().catch(() => {});
    }
  }
}

function descriptorOf(value: ByteValue): Descriptor & { part?: number } {
  if (value instanceof Uint8Array) return { size: value.length };
  if (value instanceof ReadableStream) return {};
  const { size, type } = value;
  if (typeof File === "undefined" || !(value instanceof File)) return { type, size };
  return { name: value.name, type, size, lastModified: value.lastModified };
}

/** A stream of one chunk. */
export function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}

/** Closes the files and streams of a result that nothing will read. */
export function discardBytes(
  reply: Reply | undefined,
  { types }: Request,
  values: ValueCodec,
): void {
  if (reply === undefined || reply.error !== undefined || types === undefined) return;
  const attachments =
    reply.types === undefined ? values.encode(reply.result)?.attachments : reply.attachments;
  attachments?.discard();
}
