import {
  type Attached,
  type Attachments,
  type ByteKind,
  type Described,
  type Descriptor,
  isDescriptor,
  readAll,
} from "./attachments.ts";
import { fromBase64 } from "./base64.ts";
import { ErrorCode, RpcError } from "./errors.ts";
import { streamOf } from "./sent-bytes.ts";
import { callTooLarge } from "./standard-errors.ts";

/** How many files and streams a call may have, and how long each may be. */
export interface FileLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
}

/** What all values of a message may take together. */
export interface CollectLimits {
  /** In bytes. @default no limit */
  readonly total?: number;
  /** Counts memory, as for `readAll`. */
  readonly hold?: (bytes: number) => Error | undefined;
}

/** The error of a message whose files exceed the limits, by what it says about them. */
export function fileFault(
  described: readonly Described[],
  { maxFiles, maxFileBytes }: FileLimits,
): RpcError | undefined {
  if (described.length > maxFiles) return callTooLarge("maxFiles", maxFiles);
  const isTooLong = described.some((file) => lengthOf(file) > maxFileBytes);
  return isTooLong ? callTooLarge("maxFileBytes", maxFileBytes) : undefined;
}

/** In bytes, as far as it is known before they arrive: the length of a stream is not. */
function lengthOf({ data, size = 0 }: Described): number {
  if (data === undefined) return size;
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.floor(data.length * 0.75) - padding;
}

/** The bytes of a message that was received, and the values that its receiver makes of them. */
export class ReceivedBytes {
  readonly #attachments: Attachments | undefined;
  readonly #maxBytes: number;
  readonly #maxStreamBytes: number;
  /** Those that were read as a whole, by the numbers of their parts. */
  readonly #whole = new Map<number, Uint8Array<ArrayBuffer>>();

  /** `maxBytes` is the length up to which a value is read, and `maxStreamBytes` that up to which a stream is. */
  constructor(attachments: Attachments | undefined, maxBytes: number, maxStreamBytes = maxBytes) {
    this.#attachments = attachments;
    this.#maxBytes = maxBytes;
    this.#maxStreamBytes = maxStreamBytes;
  }

  /** Reads all values of these kinds. Parts arrive one after the other, so none of another kind may come before. */
  async collect(
    attached: readonly Attached[],
    kinds: ReadonlySet<ByteKind>,
    { total = Number.POSITIVE_INFINITY, hold }: CollectLimits = {},
  ): Promise<void> {
    let isOver = false;
    let left = total;
    for (const { part, kind, size } of attached) {
      if (!kinds.has(kind)) isOver = true;
      else if (isOver) throw new TypeError("the parts of streams must come last");
      else {
        const max = Math.min(this.#maxBytes, left);
        const bytes = await readAll(this.#open(part, size, max), max, undefined, hold);
        left -= bytes.length;
        this.#whole.set(part, bytes);
      }
    }
  }

  /** The value of a descriptor; throws if it has another form, or names a part that is missing. */
  value(kind: ByteKind, json: unknown): unknown {
    if (kind === "bytes" && typeof json === "string") return fromBase64(json);
    if (!isDescriptor(json)) throw new TypeError("wrong form");
    const { part, data, size } = json;
    const bytes = data === undefined ? this.#whole.get(part as number) : fromBase64(data);
    if (data !== undefined && size !== undefined && bytes?.length !== size)
      throw new TypeError("wrong size");
    if (bytes === undefined) {
      const max = kind === "stream" ? this.#maxStreamBytes : this.#maxBytes;
      const stream = this.#open(part as number, size, max);
      if (kind === "stream") return stream;
      if (kind === "bytes" || size === undefined) throw new TypeError("wrong form");
      return arrivingBlob(blobOf(kind, [], json), stream, size);
    }
    if (kind === "bytes") return bytes;
    return kind === "stream" ? streamOf(bytes) : blobOf(kind, [bytes], json);
  }

  #open(part: number, size: number | undefined, max: number): ReadableStream<Uint8Array> {
    if (this.#attachments === undefined) throw new TypeError(`part ${part} is missing`);
    return checked(this.#attachments.open(part), size, max);
  }
}

/** Fails if there are more bytes than the limit, or not as many as the message said. */
function checked(
  stream: ReadableStream<Uint8Array>,
  size: number | undefined,
  maxBytes: number,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  let length = 0;
  const fail = (error: RpcError): never => {
    reader.cancel().catch(() => {});
    throw error;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        length += value?.length ?? 0;
        if (length > maxBytes) fail(callTooLarge("maxFileBytes", maxBytes));
        if (size !== undefined && (done ? length < size : length > size)) {
          const data = `the message announced ${size} bytes, and ${done ? length : "more"} arrived`;
          fail(new RpcError(ErrorCode.InvalidParams, "Invalid params", data));
        }
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function blobOf(
  kind: "blob" | "file",
  parts: BlobPart[],
  { type = "", name = "", lastModified }: Descriptor,
): Blob {
  if (kind === "blob") return new Blob(parts, { type });
  return new File(parts, name, { type, ...(lastModified !== undefined && { lastModified }) });
}

const arriving =
  "this file can be read only once; copy its bytes to read them again or to slice them";

/** A Blob or a File whose bytes arrive while it is read; `size` and `type` are known before. They can be read once. */
function arrivingBlob<Value extends Blob>(
  value: Value,
  stream: ReadableStream<Uint8Array>,
  size: number,
): Value {
  let unread: ReadableStream<Uint8Array> | undefined = stream;
  const take = (): ReadableStream<Uint8Array> => {
    if (unread === undefined) throw new TypeError(arriving);
    const taken = unread;
    unread = undefined;
    return taken;
  };
  const bytes = async (): Promise<Uint8Array<ArrayBuffer>> => readAll(take(), size);
  const own = {
    stream: take,
    bytes,
    arrayBuffer: async () => (await bytes()).buffer,
    text: async () => new TextDecoder().decode(await bytes()),
    slice: () => {
      throw new TypeError(arriving);
    },
  };
  Object.defineProperty(value, "size", { value: size });
  for (const [name, run] of Object.entries(own)) Object.defineProperty(value, name, { value: run });
  return value;
}
