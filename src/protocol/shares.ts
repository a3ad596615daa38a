/** A caller that uses less than these is never refused for its share. */
const leastCalls = 100;
const leastBytes = 1024 * 1024;
/** Most callers without running calls that are remembered, so that most calls need no new share. */
const mostIdle = 1_000;

/** What the running calls of one caller take. */
export interface Share {
  readonly caller: string;
  calls: number;
  bytes: number;
}

/** Running calls and the memory that they hold, by caller. */
export class Shares {
  readonly #byCaller = new Map<string, Share>();
  /** The last caller, which often makes the next call too. */
  #last: Share | undefined;

  /** A call begins. */
  enter(caller: string): Share {
    const share = this.#last?.caller === caller ? this.#last : this.#shareOf(caller);
    this.#last = share;
    share.calls++;
    return share;
  }

  leave(share: Share, bytes: number): void {
    share.bytes -= bytes;
    if (--share.calls > 0 || this.#byCaller.size <= mostIdle) return;
    this.#byCaller.delete(share.caller);
    if (this.#last === share) this.#last = undefined;
  }

  /** Whether a caller takes more than twice what is left: alone it gets two thirds, and each of n callers 2/(2n+1). */
  isUsedUp(caller: string, callsLeft: number, bytesLeft: number): boolean {
    const share = this.#byCaller.get(caller);
    if (share === undefined) return false;
    const { calls, bytes } = share;
    return (
      (calls >= leastCalls && calls > 2 * callsLeft) ||
      (bytes > leastBytes && bytes > 2 * bytesLeft)
    );
  }

  #shareOf(caller: string): Share {
    let share = this.#byCaller.get(caller);
    if (share === undefined) {
      share = { caller, calls: 0, bytes: 0 };
      this.#byCaller.set(caller, share);
    }
    return share;
  }
}
