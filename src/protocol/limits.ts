/** What a server or client accepts from its peer. Each limit stops one way of exhausting a process. */
export interface Limits {
  /**
   * Longest message, in bytes if the wire counts bytes, otherwise in characters; stops memory exhaustion. @default 1
   * MiB
   */
  readonly maxMessageBytes: number;
  /** Longest reply, in characters; a batch counts as one. Stops amplification. @default 10 MiB */
  readonly maxReplyLength: number;
  /** Most entries in a batch; stops fan-out. @default 100 */
  readonly maxBatch: number;
  /** Most entries of one batch that run at the same time; stops a batch from taking all capacity. @default 32 */
  readonly maxBatchConcurrency: number;
  /** Deepest nesting of a message; stops stack overflow in code that walks the params. @default 64 */
  readonly maxDepth: number;
  /** Most rich values in the params of a call, such as dates; stops calls that take long to read. @default 5000 */
  readonly maxRichValues: number;
  /** Most files, Blobs, byte streams and long byte arrays of a call, on wires that carry them beside the message. @default 16 */
  readonly maxFiles: number;
  /** Longest of them, in bytes; stops memory and disk exhaustion. Methods that take more say so. @default 10 MiB */
  readonly maxFileBytes: number;
  /** Longest id, in characters; stops replies made large by their id alone. @default 256 */
  readonly maxIdLength: number;
  /** Most calls of one connection that run at the same time; stops one peer from taking all capacity. @default 1000 */
  readonly maxInFlight: number;
  /**
   * Most memory that the running calls of one connection hold, in bytes as estimated from their messages. Above half
   * of it the connection is not read, if the wire can make the peer wait. @default 64 MiB
   */
  readonly maxInFlightBytes: number;
  /** Most streams of one connection that are open at the same time; stops memory exhaustion. @default 128 */
  readonly maxStreams: number;
  /** Most bytes waiting for a slow peer before it is disconnected; stops memory exhaustion. @default 4 MiB */
  readonly maxBufferedBytes: number;
}

/** The default limits. */
export const defaultLimits: Limits = {
  maxMessageBytes: 1024 * 1024,
  maxReplyLength: 10 * 1024 * 1024,
  maxBatch: 100,
  maxBatchConcurrency: 32,
  maxDepth: 64,
  maxRichValues: 5000,
  maxFiles: 16,
  maxFileBytes: 10 * 1024 * 1024,
  maxIdLength: 256,
  maxInFlight: 1000,
  maxInFlightBytes: 64 * 1024 * 1024,
  maxStreams: 128,
  maxBufferedBytes: 4 * 1024 * 1024,
};

export function limitsFrom(overrides: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(overrides)) {
    if (!Object.hasOwn(defaultLimits, name)) throw new TypeError(`unknown limit "${name}"`);
    limitOf(name, value);
  }
  return { ...defaultLimits, ...overrides };
}

/** Validates a limit; a non-number would silently disable it. `usual` is the default. */
export function limitOf(name: string, value: number | undefined, usual?: number): number {
  if (value === undefined && usual !== undefined) return usual;
  if (typeof value === "number" && value >= 1) return value;
  throw new TypeError(`${name} must be a number of at least 1, not ${value}`);
}

/** Whether a parsed value nests deeper than `levels`; never recurses further. */
export function exceedsDepth(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels <= 0) return true;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item: unknown = value[i];
      if (typeof item === "object" && item !== null && exceedsDepth(item, levels - 1)) return true;
    }
    return false;
  }
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key];
    if (typeof item === "object" && item !== null && exceedsDepth(item, levels - 1)) return true;
  }
  return false;
}

/** Methods that accept longer or shorter messages than their server does otherwise. */
export class MessageLimits {
  /** No message up to here is too long for its method. */
  readonly least: number;
  /** Some method accepts messages up to here. */
  readonly greatest: number;
  /** The limit of all other methods, and of batches. */
  readonly usual: number;
  readonly #own: ReadonlyMap<string, number>;

  constructor(usual: number, own: ReadonlyMap<string, number>) {
    for (const [name, max] of own) limitOf(`limits.maxMessageBytes of ${name}`, max);
    this.usual = usual;
    this.least = Math.min(usual, ...own.values());
    this.greatest = Math.max(usual, ...own.values());
    this.#own = own;
  }

  of(method: string): number {
    return this.#own.get(method) ?? this.usual;
  }
}
