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
