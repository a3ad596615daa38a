import { type Clock, systemClock } from "../../../protocol/clock.ts";
import { limitOf } from "../../../protocol/limits.ts";
import { pageOf, type WorkRecord, type WorkStore } from "../../../work/work-store.ts";
import { requestMs } from "../connection.ts";
import { BucketRetry, type KV, keyName, revisionOf } from "./bucket.ts";

export interface NatsWorkOptions {
  /** How long a record is kept after its last change, unless it says otherwise. @default 604800000 */
  readonly ttlMs?: number;
  /** For tests. @default systemClock */
  readonly clock?: Clock;
}

/** A record with the time at which it is no longer found, in milliseconds since the epoch. */
interface Entry {
  readonly expiresAt: number;
  /** Identifies the write. */
  readonly mark: string;
  readonly record: WorkRecord;
}

/** Most records whose last write is remembered. */
const mostRemembered = 1_000;
/** The listing entry of active work is written again after this many changes, because it expires too. */
const listEvery = 100;
/** Most concurrent requests to NATS of one `list` or `changed`. */
const mostAtOnce = 64;

/**
 * Stores long-running work in a bucket of NATS, so that it survives its process, and every process of a fleet can answer
 * for it. Give the bucket a `ttl` of at least `ttlMs`, so that NATS removes what is never read again. Services that are
 * not one fleet need buckets of their own. A listing reads all records of its owner.
 * @example
 * ```ts
 * import { Kvm } from "@nats-io/kv";
 * import { connect } from "@nats-io/transport-node";
 * import { a2aAgent } from "callwire/a2a";
 * import { natsWork } from "callwire/nats/kv";
 *
 * const buckets = new Kvm(await connect({ maxReconnectAttempts: -1 }));
 * const bucket = await buckets.create("tasks", { ttl: 7 * 24 * 3_600_000 });
 * const agent = a2aAgent({
 *   card: { name: "Parrot", description: "Repeats what it is told" },
 *   store: natsWork(bucket),
 *   execute: (message) => message.text,
 * });
 * ```
 */
export function natsWork(
  bucket: Pick<KV, "put" | "get" | "purge" | "keys" | "status">,
  options: NatsWorkOptions = {},
): WorkStore {
  const { clock = systemClock } = options;
  const ttl = limitOf("ttlMs", options.ttlMs, 7 * 24 * 3_600_000);
  const retry = new BucketRetry(bucket);
  const nameOf = (id: string): string => `r.${keyName(id)}`;
  /** The key of a listing entry; NATS can list keys only by their tokens. */
  const entryOf = (owner: string, id: string): string => `o.${keyName(owner)}.${keyName(id)}`;

  /** Revisions of the last writes of this process, so that the next ones need not read them. */
  const own = new Map<string, { readonly version: number; readonly revision: number }>();

  const read = async (name: string): Promise<{ entry?: Entry; revision: number }> => {
    const found = await retry.run(() => bucket.get(name));
    if (found === null) return { revision: 0 };
    const { revision } = found;
    return found.operation === "PUT" ? { entry: found.json<Entry>(), revision } : { revision };
  };
  const load = async (name: string): Promise<WorkRecord | undefined> => {
    const { entry } = await read(name);
    return entry !== undefined && entry.expiresAt > clock.now() ? entry.record : undefined;
  };
  const remember = ({ id, version, phase }: WorkRecord, revision: number): void => {
    own.delete(id);
    if (phase === "active") own.set(id, { version, revision });
    const [oldest] = own.keys();
    if (own.size > mostRemembered && oldest !== undefined) own.delete(oldest);
  };
  /** The revision that a write of this version must find, or undefined if it is too late. */
  const expected = async ({ id, version }: WorkRecord): Promise<number | undefined> => {
    const last = own.get(id);
    if (last?.version === version - 1) return last.revision;
    const { entry, revision } = await read(nameOf(id));
    return (entry?.record.version ?? 0) === version - 1 ? revision : undefined;
  };

  return {
    load: (id) => load(nameOf(id)),
    async save(record) {
      const { id, owner, version, phase, ttlMs = ttl } = record;
      const name = nameOf(id);
      const previousSeq = await expected(record);
      if (previousSeq === undefined) return false;
      const mark = crypto.randomUUID();
      const entry: Entry = { expiresAt: clock.now() + ttlMs, mark, record };
      const value = JSON.stringify(entry);
      // First, because a record without an entry is never listed.
      if (phase !== "active" || version % listEvery === 1)
        await retry.run(() => bucket.put(entryOf(owner, id), id, { timeout: requestMs }));
      const revision = await retry.run(() =>
        revisionOf(bucket.put(name, value, { previousSeq, timeout: requestMs })),
      );
      if (revision !== undefined) {
        remember(record, revision);
        return true;
      }
      own.delete(id);
      // It may have been stored, and only the confirmation was lost.
      return (await read(name)).entry?.mark === mark;
    },
    async list(query) {
      const names = await retry.run(async () => {
        const found: string[] = [];
        for await (const key of await bucket.keys(`o.${keyName(query.owner)}.*`)) found.push(key);
        return found;
      });
      const records = await inParallel(names, async (name) => {
        const record = await load(`r.${name.slice(name.lastIndexOf(".") + 1)}`);
        if (record === undefined) await retry.run(() => bucket.purge(name));
        return record;
      });
      return pageOf(records, query);
    },
    async remove(id) {
      own.delete(id);
      const { entry } = await read(nameOf(id));
      if (entry === undefined) return;
      await retry.run(() => bucket.purge(nameOf(id)));
      await retry.run(() => bucket.purge(entryOf(entry.record.owner, id)));
    },
    changed: (known) =>
      inParallel([...known], async ([id, version]) => {
        const record = await load(nameOf(id));
        return record !== undefined && record.version > version ? record : undefined;
      }),
  };
}

/** Reads all, a limited number at a time, and returns what was found. */
async function inParallel<T, R>(
  all: readonly T[],
  read: (each: T) => Promise<R | undefined>,
): Promise<R[]> {
  const found: R[] = [];
  const rest = all.values();
  const reader = async (): Promise<void> => {
    for (const each of rest) {
      const result = await read(each);
      if (result !== undefined) found.push(result);
    }
  };
  await Promise.all(Array.from({ length: Math.min(mostAtOnce, all.length) }, reader));
  return found;
}
