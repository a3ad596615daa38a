import { base64 } from "./base64.ts";
import { memberAt } from "./json-pointer.ts";
import type { Id, Params, Request, TypedPaths } from "./message.ts";

/** Bytes that travel beside a message, by the numbers of their parts, which start with 1. */
export interface Attachments {
  /** Opens a part. Throws if there is none with this number, or if it was opened and can be read only once. */
  open(part: number): ReadableStream<Uint8Array>;
  /** Nothing more of them will be read. */
  discard(): void;
  /** Most bytes of them that are held in memory. @default 10 MiB */
  readonly maxBytes?: number | undefined;
  /** What they are read from while they are sent. @default none */
  readonly values?: readonly ByteValue[];
}

/** A value whose bytes can be sent. */
export type ByteValue = Uint8Array | Blob | ReadableStream<Uint8Array>;

/** Longer bytes of one message count as this many, so that a method may return more than all connections may buffer. */
const mostCounted = 32 * 1024 * 1024;

/** What the bytes of a message count as memory until they are sent. */
export function countedBytes({ values = [] }: Attachments): number {
  const held = values.reduce((sum, value) => sum + heldBy(value), 0);
  return Math.min(held, mostCounted);
}

/** Streams and files count nothing, because they are read while they are sent. */
function heldBy(value: ByteValue): number {
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof ReadableStream || isFileOfBun(value)) return 0;
  try {
    // A clone shares the bytes. That of a Blob which still arrives is empty, and a file cannot be cloned.
    return structuredClone(value).size;
  } catch {
    return 0;
  }
}

function isFileOfBun(blob: Blob & { readonly name?: unknown }): boolean {
  return typeof blob.name === "string" && !(blob instanceof File);
}

/** Bytes beside the reply to a call. */
export interface AttachedReply {
  readonly id: Id | undefined;
  readonly attached: readonly Attached[];
  readonly attachments: Attachments;
}

/** What a message says about bytes: the number of the part that has them, or the bytes themselves as base64. */
export interface Descriptor {
  readonly part?: number;
  readonly data?: string;
  /** In bytes; missing for streams. */
  readonly size?: number;
  /** The media type of a Blob. */
  readonly type?: string;
  /** The name of a File. */
  readonly name?: string;
  /** When a File was changed, in milliseconds since the epoch. */
  readonly lastModified?: number;
}

/** A descriptor where it was found. */
export interface Described extends Descriptor {
  /** How the receiver gets the bytes. */
  readonly kind: ByteKind;
  readonly path: string;
}

/** A descriptor of bytes that are in a part. */
export interface Attached extends Described {
  readonly part: number;
}

/** Bytes with a buffer of their own; `Uint8Array` has no type argument before TypeScript 5.7. */
export type OwnBytes = ReturnType<Uint8Array["slice"]>;

/** The names of the types whose bytes may travel beside the message. */
export type ByteKind = "bytes" | "blob" | "file" | "stream";

const byteKinds: readonly ByteKind[] = ["bytes", "blob", "file", "stream"];

export function isByteKind(name: string): name is ByteKind {
  return (byteKinds as readonly string[]).includes(name);
}

/** Whether some of the paths lead to bytes that may be attached; a peer may send anything as its types. */
export function mayAttach(types: TypedPaths | null | undefined): boolean {
  return (
    typeof types === "object" &&
    types !== null &&
    byteKinds.some((kind) => types[kind] !== undefined)
  );
}

/** What JSON says about bytes, whether they are in parts or in the JSON. Throws a TypeError if `types` has a wrong form. */
export function describedIn(json: unknown, types: TypedPaths): Described[] {
  const found: Described[] = [];
  for (const kind of byteKinds) {
    const paths = Object.hasOwn(types, kind) ? types[kind] : undefined;
    if (paths === undefined) continue;
    if (!Array.isArray(paths)) throw new TypeError(`the type "${kind}" has no array of paths`);
    for (const path of paths) {
      const value = memberAt(json, path);
      if (isDescriptor(value)) found.push({ ...value, kind, path });
    }
  }
  return found;
}

/** The attached values in JSON, in the order of their parts. Throws a TypeError unless each part has one value. */
export function attachedIn(json: unknown, types: TypedPaths): Attached[] {
  return attachedOf(describedIn(json, types));
}

/** The same for what was found already. */
export function attachedOf(described: readonly Described[]): Attached[] {
  const found = described.filter((one): one is Attached => one.part !== undefined);
  found.sort((a, b) => a.part - b.part);
  if (found.every(({ part }, i) => part === i + 1)) return found;
  throw new TypeError("the parts must have the numbers 1, 2, 3, … and one value each");
}

export function isDescriptor(value: unknown): value is Descriptor {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { part, data, size, type, name, lastModified } = value as Record<string, unknown>;
  return (
    (part === undefined) !== (data === undefined) &&
    (part === undefined || isCount(part)) &&
    (data === undefined || typeof data === "string") &&
    (size === undefined || isCount(size)) &&
    (type === undefined || typeof type === "string") &&
    (name === undefined || typeof name === "string") &&
    (lastModified === undefined || typeof lastModified === "number")
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Reads all attached bytes into the JSON as base64, for wires that carry nothing but messages. */
export async function inlined(
  json: unknown,
  types: TypedPaths,
  attachments: Attachments,
  maxBytes: number,
  signal?: AbortSignal,
  hold?: (bytes: number) => Error | undefined,
): Promise<unknown> {
  const copy = structuredClone(json);
  let left = maxBytes;
  try {
    for (const { part, path } of attachedIn(json, types)) {
      const bytes = await readAll(attachments.open(part), left, signal, hold);
      left -= bytes.length;
      const descriptor = memberAt(copy, path) as { part?: number; data?: string };
      delete descriptor.part;
      descriptor.data = base64(bytes);
    }
  } finally {
    attachments.discard();
  }
  return copy;
}

/** How many bytes fit into this many characters: base64 takes four for three. */
export function bytesInside(characters: number): number {
  return Math.floor(characters * 0.75);
}

/** Longest files in a message, on links that carry nothing beside it; the limits of servers are lower. */
export const mostInside = 100 * 1024 * 1024;

/** A request with its bytes inside. Throws a RangeError if they are too long for that. */
export async function withBytesInside(
  { attachments: _, ...request }: Request,
  attachments: Attachments,
  maxBytes: number,
  signal?: AbortSignal,
  hold?: (bytes: number) => Error | undefined,
): Promise<Request> {
  const { params, types = {} } = request;
  const whole = await inlined(params, types, attachments, maxBytes, signal, hold);
  return { ...request, params: whole as Params };
}

/** Most bytes of attachments that a receiver holds in memory, unless it has a limit of its own. */
export const defaultMaxBytes = 10 * 1024 * 1024;

/**
 * Reads a stream to its end. Throws a RangeError if it is longer than the limit. `hold` counts the memory for it, and
 * returns an error if that is too much.
 */
export async function readAll(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number,
  signal?: AbortSignal,
  hold?: (bytes: number) => Error | undefined,
): Promise<OwnBytes> {
  const reader = stream.getReader();
  const cancel = (): void => void reader.cancel().catch(() => {});
  if (signal?.aborted) cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  let bytes = new Uint8Array(0);
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      signal?.removeEventListener("abort", cancel);
      signal?.throwIfAborted();
      hold?.(length - bytes.length);
      return length === bytes.length ? bytes : bytes.slice(0, length);
    }
    const start = length;
    length += value.length;
    const capacity =
      length <= bytes.length ? bytes.length : start === 0 ? length : Math.min(2 * length, maxBytes);
    const failure =
      length <= maxBytes
        ? hold?.(capacity - bytes.length)
        : new RangeError(`there are more than ${maxBytes} bytes`);
    if (failure !== undefined) {
      signal?.removeEventListener("abort", cancel);
      cancel();
      throw failure;
    }
    if (capacity > bytes.length) {
      const grown = new Uint8Array(capacity);
      grown.set(bytes);
      bytes = grown;
    }
    bytes.set(value, start);
  }
}
