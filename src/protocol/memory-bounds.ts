/** No text becomes more bytes per character than this, by the estimate below: `[],[],` has two marks in three characters. */
const mostPerCharacter = 48;
/** A character of a string, where it is not Latin-1. */
const perCharacter = 2;
/** An object with one member takes 208 bytes in V8, and has three marks with the comma after it. */
const perMark = 64;

/** A bound on what a JSON text takes on the heap when it is parsed; a list of small objects takes 25 times its length. */
export function heapBytes(text: string): number {
  let marks = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // , : [ {
    if (code === 0x2c || code === 0x3a || code === 0x5b || code === 0x7b) marks++;
  }
  return text.length * perCharacter + marks * perMark;
}

/** Memory that calls in flight hold, of one connection or of a whole server. */
export class HeldBytes {
  readonly #most: number;
  readonly #high: number;
  readonly #waiting = new Set<() => void>();
  bytes = 0;

  constructor(most: number) {
    this.#most = most;
    this.#high = most / 2;
  }

  /** Whether no more calls may run. */
  get isFull(): boolean {
    return this.bytes >= this.#most;
  }

  /** Whether so much is held that peers should wait. */
  get isHigh(): boolean {
    return this.bytes > this.#high;
  }

  isHighWith(more: number): boolean {
    return this.bytes + more > this.#high;
  }

  free(bytes: number): void {
    this.bytes -= bytes;
    if (this.#waiting.size === 0 || this.isHigh) return;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Calls `wake` whenever bytes were freed and peers need not wait, until `forget`. */
  watch(wake: () => void): void {
    this.#waiting.add(wake);
  }

  forget(wake: () => void): void {
    this.#waiting.delete(wake);
  }
}

/** Counts a call by the text that brought it; returns what to subtract when it has ended. */
export function holdBytes(text: string, server: HeldBytes, connection?: HeldBytes): number {
  let bytes = text.length * mostPerCharacter;
  // Looking at each character would cost more than short calls do, and while little is held it does not matter.
  if (server.isHighWith(bytes) || connection?.isHighWith(bytes)) bytes = heapBytes(text);
  server.bytes += bytes;
  if (connection !== undefined) connection.bytes += bytes;
  return bytes;
}

/** A connection that keeps bytes because its peer is slow. */
export interface Buffering {
  /** What waits to be read by the peer, and what came of messages whose end has not. */
  readonly bufferedBytes: number;
  /** Ends the connection and lets go of what it keeps. */
  shed(): void;
}

/** What the connections of a server buffer together, which no limit of a single one bounds. */
export class WireBuffers {
  readonly #most: number;
  readonly #lookAfter: number;
  readonly #open = new Set<Buffering>();
  /** Bytes since the last look. */
  #moved = 0;

  constructor(most: number) {
    this.#most = most;
    this.#lookAfter = most / 8;
  }

  opened(connection: Buffering): void {
    this.#open.add(connection);
  }

  closed(connection: Buffering): void {
    this.#open.delete(connection);
  }

  /** So many bytes may be buffered now that were not before. Adding up all connections each time would cost too much. */
  moved(bytes: number): void {
    this.#moved += bytes;
    if (this.#moved > this.#lookAfter) this.#look();
  }

  #look(): void {
    this.#moved = 0;
    const kept = Array.from(this.#open, (connection) => ({
      connection,
      bytes: connection.bufferedBytes,
    }));
    let total = kept.reduce((sum, { bytes }) => sum + bytes, 0);
    if (total <= this.#most) return;
    // Those who keep most of it waiting go first.
    for (const { connection, bytes } of kept.sort((a, b) => b.bytes - a.bytes)) {
      if (total <= this.#most) break;
      total -= bytes;
      connection.shed();
    }
  }
}
