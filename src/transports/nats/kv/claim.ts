import type { Context } from "../../../protocol/context.ts";
import { ErrorCode, RpcError } from "../../../protocol/errors.ts";
import type { KvEntry } from "./client-library.ts";
import { created } from "./created.ts";
import { gone, type Note } from "./lease.ts";
import type { Ledger } from "./ledger.ts";
import { attemptMs } from "./outage.ts";
import { revisionOf } from "./revision.ts";
import { silentSince } from "./silence.ts";

/** A call that would run under its key, if no other did. */
export class Claim {
  readonly #ledger: Ledger;
  readonly #name: string;
  readonly #note: Note;
  readonly #call: Context;
  /** Since when another cannot be watched, or its key not be taken over. */
  #failingSince: number | undefined;
  /** How often others were first at a revision. */
  #lost: { readonly revision: number; readonly turns: number } | undefined;

  constructor(ledger: Ledger, held: { readonly name: string; readonly note: Note }, call: Context) {
    this.#ledger = ledger;
    this.#name = held.name;
    this.#note = held.note;
    this.#call = call;
  }

  /** The revision with which the key is ours, or the answer that stands under it. */
  async settle(): Promise<number | NonNullable<Note["reply"]>> {
    for (;;) {
      const revision = await this.#bridge(() => this.#write(gone));
      if (revision !== undefined) return revision;
      const get = (): Promise<KvEntry | null> => this.#ledger.bucket.get(this.#name);
      const entry = await this.#bridge(get);
      const settled = entry === null ? undefined : await this.#judge(entry);
      if (settled !== undefined) return settled;
    }
  }

  /** The same, from what stands there; undefined where that changes. */
  async #judge(entry: KvEntry): Promise<number | Note["reply"]> {
    // Somebody gave it back.
    if (entry.operation !== "PUT") return this.#succeed(entry, undefined);
    const note = entry.json<Note>();
    if (note.of !== this.#note.of) {
      throw new RpcError(ErrorCode.InvalidRequest, "Invalid Request", {
        details: "this idempotency key belongs to another call",
      });
    }
    if (note.reply !== undefined) return note.reply;
    // It was stored, and only its confirmation was lost. That may be long ago, so it needs a sign before the call runs.
    if (note.by === this.#note.by) return this.#bridge(() => this.#write(entry.revision));
    return this.#succeed(entry, note.by);
  }

  /** Takes the key over from one who gives no more sign, or has given it back. */
  async #succeed(entry: KvEntry, by: string | undefined): Promise<number | undefined> {
    try {
      // Where another was first to take what was given back, it is as if that one had it.
      const isFree = by === undefined && this.#turnAt(entry.revision) === 0;
      const revision = isFree ? entry.revision : await this.#silence(entry, by ?? "");
      if (revision === undefined) return undefined;
      const turn = this.#turnAt(revision);
      const right = `${this.#name}.${revision}.${turn}`;
      if (await created(this.#ledger.bucket, right, this.#note.by))
        return await this.#write(revision);
      this.#lost = { revision, turns: turn + 1 };
      return undefined;
    } catch (error) {
      // Then it is looked anew: after an outage the other has to be given time for a sign first.
      this.#failingSince ??= performance.now();
      await this.#ledger.outage.wait(error, this.#failingSince, this.#call);
      return undefined;
    }
  }

  async #silence(entry: KvEntry, by: string): Promise<number | undefined> {
    const silent = await silentSince(this.#ledger, entry, by, this.#call.signal);
    this.#failingSince = undefined;
    return silent;
  }

  /** Who was first to take the key over at a revision may have ended then; so after a lease there is another turn. */
  #turnAt(revision: number): number {
    return this.#lost?.revision === revision ? this.#lost.turns : 0;
  }

  #bridge<T>(run: () => Promise<T>): Promise<T> {
    return this.#ledger.outage.bridge(run, this.#call);
  }

  /** Undefined where the key has another revision. */
  #write(revision: number): Promise<number | undefined> {
    const text = JSON.stringify(this.#note);
    const options = { previousSeq: revision, timeout: attemptMs };
    return revisionOf(this.#ledger.bucket.put(this.#name, text, options));
  }
}
