import type { Clock, Timer } from "../../../protocol/clock.ts";
import type { Log } from "../../../protocol/log.ts";
import type { ErrorObject } from "../../../protocol/message.ts";
import type { KV, KvEntry } from "./client-library.ts";
import { revisionOf } from "./revision.ts";

/** What stands under a key: a call that runs, or the answer it ended with. */
export interface Note {
  /** What was called, with which params. */
  readonly of: string;
  /** Who runs it. */
  readonly by: string;
  readonly reply?: { readonly result?: unknown; readonly error?: ErrorObject };
}

/** How long a key is held for a call that runs, and by which clock. */
export interface LeaseTerms {
  readonly leaseMs: number;
  readonly clock: Clock;
}

/** So many times within its length a lease is renewed, so that one late sign does not lose it. */
const renewals = 3;
/** So long a method that goes on after its call has ended still holds its key. */
const lingerMs = 10 * 60_000;

/** A key that is held while its call runs: it is written anew often enough to show that somebody is there. */
export class Lease {
  readonly #bucket: KV;
  readonly #name: string;
  readonly #note: Note;
  readonly #terms: LeaseTerms;
  readonly #signal: AbortSignal;
  readonly #log: Log;
  #revision: number;
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;
  #endedAt: number | undefined;

  constructor(
    bucket: KV,
    name: string,
    held: { readonly note: Note; readonly revision: number },
    terms: LeaseTerms,
    caller: { readonly signal: AbortSignal; readonly log: Log },
  ) {
    this.#bucket = bucket;
    this.#name = name;
    this.#note = held.note;
    this.#revision = held.revision;
    this.#terms = terms;
    this.#signal = caller.signal;
    this.#log = caller.log;
    this.#await();
  }

  /** Leaves the answer under the key. */
  async answer(reply: NonNullable<Note["reply"]>): Promise<void> {
    await this.#stop();
    const text = JSON.stringify({ ...this.#note, reply } satisfies Note);
    await this.#write(() => this.#bucket.update(this.#name, text, this.#revision));
  }

  /** Gives the key back: the next call with it runs. */
  async release(): Promise<void> {
    await this.#stop();
    await this.#write(async () => {
      await this.#bucket.delete(this.#name, { previousSeq: this.#revision });
      return this.#revision;
    });
  }

  async #stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#renewing;
  }

  #await(): void {
    const { clock, leaseMs } = this.#terms;
    this.#timer = clock.after(leaseMs / renewals, () => {
      this.#renewing = this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const timer = this.#timer;
    if (this.#isAbandoned()) return;
    try {
      const text = JSON.stringify(this.#note);
      const held = await this.#write(() => this.#bucket.update(this.#name, text, this.#revision));
      if (!held) {
        const sentence = "an idempotency key was taken over while its call runs: it may run twice";
        this.#log.warn({ leaseMs: this.#terms.leaseMs }, sentence);
        return;
      }
    } catch {
      // NATS may be back by the next time.
    }
    // Where it was stopped meanwhile, there is no next time.
    if (this.#timer === timer) this.#await();
  }

  /** A method that does not end although nobody waits for it any more must not hold its key for ever. */
  #isAbandoned(): boolean {
    if (!this.#signal.aborted) return false;
    const now = this.#terms.clock.now();
    this.#endedAt ??= now;
    return now - this.#endedAt >= lingerMs;
  }

  /** Writes while the key is still ours; false when another has it. */
  async #write(write: () => Promise<number>): Promise<boolean> {
    let revision = await revisionOf(write());
    if (revision === undefined) {
      // A renewal of our own may have been stored although its confirmation was lost.
      const entry = await this.#bucket.get(this.#name);
      if (entry === null || !isHeldBy(entry, this.#note.by)) return false;
      this.#revision = entry.revision;
      revision = await revisionOf(write());
    }
    if (revision === undefined) return false;
    this.#revision = revision;
    return true;
  }
}

/** Whether a call still runs, at the one that is named. */
export function isHeldBy(entry: KvEntry, by: string): boolean {
  if (entry.operation !== "PUT") return false;
  const note = entry.json<Note>();
  return note.reply === undefined && note.by === by;
}
