import type { Timer } from "../../../protocol/clock.ts";
import type { KvEntry } from "./client-library.ts";
import { isHeldBy } from "./lease.ts";
import type { Ledger } from "./ledger.ts";

/** A sign that is older than so many leases is no sign, whatever clock dated it. */
const mostLate = 6;

/**
 * Waits for the end of a call that another runs. Where that gives no more sign, the revision at which it
 * fell silent, to take over from; otherwise undefined. Rejects when the caller is gone.
 */
export async function silentSince(
  ledger: Ledger,
  entry: KvEntry,
  by: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  signal.throwIfAborted();
  const watch = await ledger.bucket.watch({ key: entry.key });
  const stop = (): void => watch.stop();
  const patience = new Patience(ledger, stop);
  let silent: number | undefined = entry.revision;
  patience.renew(entry);
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) stop();
    for await (const next of watch) {
      if (next.revision === silent) continue;
      silent = isHeldBy(next, by) ? next.revision : undefined;
      if (silent === undefined) break;
      patience.renew(next);
    }
  } finally {
    patience.end();
    signal.removeEventListener("abort", stop);
    watch.stop();
  }
  signal.throwIfAborted();
  // A watch may also end with its connection, which says nothing of the call.
  return patience.isOver ? silent : undefined;
}

/** Waits a lease for the next sign, and for half of it somebody must have led the bucket: nobody can give a sign otherwise. */
class Patience {
  isOver = false;
  readonly #ledger: Ledger;
  readonly #stop: () => void;
  #timer: Timer | undefined;
  #signs = 0;

  constructor(ledger: Ledger, stop: () => void) {
    this.#ledger = ledger;
    this.#stop = stop;
  }

  renew({ created }: KvEntry): void {
    this.end();
    const { leaseMs, clock } = this.#ledger;
    const sign = this.#signs;
    // The time is counted here from when a sign is seen, so that clocks that differ take nothing over
    // early. Only one that is older by far goes by its date, for callers who never wait so long.
    const leftMs = created.getTime() + leaseMs * mostLate - clock.now();
    const half = leaseMs / 2;
    const askAfterMs = Math.max(0, Math.min(half, leftMs - half));
    this.#timer = clock.after(askAfterMs, () => void this.#ask(sign));
  }

  end(): void {
    this.#signs++;
    this.#timer?.cancel();
  }

  async #ask(sign: number): Promise<void> {
    try {
      while (!(await this.#ledger.outage.isLed())) if (sign !== this.#signs) return;
    } catch {
      // The bucket is gone, as who claims the key will hear.
      return this.#stop();
    }
    if (sign !== this.#signs) return;
    this.#timer = this.#ledger.clock.after(this.#ledger.leaseMs / 2, () => {
      this.isOver = true;
      this.#stop();
    });
  }
}
