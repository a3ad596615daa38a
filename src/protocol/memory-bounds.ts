/** No JSON takes more bytes per character by the estimate below: `[],[],` has two marks in three characters. */
const mostPerCharacter = 48;
/** A character of a string that is not Latin-1. */
const perCharacter = 2;
/** An object with one member takes 208 bytes in V8, and has three marks including the comma after it. */
const perMark = 64;

/** Upper bound of the heap that JSON takes when parsed; an array of small objects takes 25 times its length. */
export function heapBytes(text: string): number {
  let marks = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // , : [ {
    if (code === 0x2c || code === 0x3a || code === 0x5b || code === 0x7b) marks++;
  }
  return text.length * perCharacter + marks * perMark;
}

/** Memory that the calls in flight of a connection or a server hold. */
export class HeldBytes {
  /** While this much is held, no more calls may run. */
  readonly most: number;
  readonly #high: number;
  readonly #waiting = new Set<() => void>();
  bytes = 0;

  constructor(most: number) {
    this.most = most;
    this.#high = most / 2;
  }

  /** Whether enough is held that peers should be paused. */
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

  /** Calls `wake` whenever bytes were released and peers may continue, until `forget`. */
  watch(wake: () => void): void {
    this.#waiting.add(wake);
  }

  forget(wake: () => void): void {
    this.#waiting.delete(wake);
  }
}

/** Counts a call by the length of its message; returns what to subtract when it ends. */
export function holdBytes(text: string, server: HeldBytes, connection?: HeldBytes): number {
  let bytes = text.length * mostPerCharacter;
  // Scanning costs more than a short call, and while little is held a coarse estimate will do.
  if (server.isHighWith(bytes) || connection?.isHighWith(bytes)) bytes = heapBytes(text);
  server.bytes += bytes;
  if (connection !== undefined) connection.bytes += bytes;
  return bytes;
}

/** Counts what a running call holds besides its message, or releases it; false if it is too much. */
export function changeHeld(bytes: number, server: HeldBytes, connection?: HeldBytes): boolean {
  if (bytes < 0) {
    server.free(-bytes);
    connection?.free(-bytes);
    return true;
  }
  server.bytes += bytes;
  if (connection !== undefined) connection.bytes += bytes;
  return [server, connection].every((held) => held === undefined || held.bytes < held.most);
}

/** Shorter messages are buffered in any case: as many as there may be connections take little memory. */
export const longLength = 64 * 1024;

/** A connection that buffers bytes. */
export interface Buffering {
  /** Bytes that the peer has not read, and bytes of messages that have not arrived completely. */
  readonly bufferedBytes: number;
  /** Closes the connection and releases its buffers. */
  shed(): void;
}

/** Bounds what all connections of a server buffer together. */
export class WireBuffers {
  readonly #most: number;
  readonly #checkAfter: number;
  readonly #open = new Set<Buffering>();
  /** Those of `#open` that were shed: a socket keeps its bytes until the end of the turn in which it was destroyed. */
  readonly #shed = new Set<Buffering>();
  /** Bytes moved since the last check. */
  #moved = 0;
  #isFull = false;

  constructor(most: number) {
    this.#most = most;
    this.#checkAfter = most / 8;
  }

  /** Whether more may be buffered. If not, its connection must be closed, since shedding others frees nothing now. */
  get hasRoom(): boolean {
    if (this.#isFull) this.#check();
    return !this.#isFull;
  }

  /** The same for a message of this length. */
  hasRoomFor(length: number): boolean {
    return length <= longLength || this.hasRoom;
  }

  opened(connection: Buffering): void {
    this.#open.add(connection);
  }

  closed(connection: Buffering): void {
    this.#open.delete(connection);
    this.#shed.delete(connection);
  }

  /** Up to this many more bytes may be buffered now. Summing over all connections each time would cost too much. */
  moved(bytes: number): void {
    this.#moved += bytes;
    if (this.#moved > this.#checkAfter) this.#check();
  }

  #check(): void {
    this.#moved = 0;
    const kept: { connection: Buffering; bytes: number }[] = [];
    let total = 0;
    let shedBytes = 0;
    for (const connection of this.#open) {
      const bytes = connection.bufferedBytes;
      if (this.#shed.has(connection)) shedBytes += bytes;
      else {
        total += bytes;
        kept.push({ connection, bytes });
      }
    }
    this.#isFull = total + shedBytes > 2 * this.#most;
    if (total <= this.#most) return;
    // Connections that buffer most are closed first.
    for (const { connection, bytes } of kept.sort((a, b) => b.bytes - a.bytes)) {
      if (total <= this.#most) break;
      total -= bytes;
      this.#shed.add(connection);
      connection.shed();
    }
  }
}
