import type { WorkRecord, WorkStore } from "../../../work/work-store.ts";
import type { WorkTable } from "../../../work/work-table.ts";
import type { Update } from "../changes.ts";

/** The last updates of all processes, as they are stored. */
export interface UpdatesBody {
  readonly kind: "updates";
  /** How many there have been; the last ones are `updates`. */
  readonly count: number;
  readonly updates: readonly { readonly from: string; readonly item: Update }[];
}

type UpdatesRecord = WorkRecord<UpdatesBody>;

const id = "mcp-updates";
const owner = JSON.stringify(["mcp", "updates"]);
/** Updates are read within a fraction of a second; older ones are dropped. */
const mostUpdates = 200;
const keepMs = 30 * 24 * 3_600_000;

export interface SharedUpdatesSettings {
  readonly store: WorkStore;
  readonly table: WorkTable<UpdatesBody>;
  readonly now: () => number;
  /** The name of this process. */
  readonly from: string;
  /** Notifies the clients that listen at this process. */
  deliver(item: Update): void;
  failed(error: unknown): void;
}

/** Passes changes that one process of a fleet reports to the clients of all processes. */
export class SharedUpdates {
  readonly #settings: SharedUpdatesSettings;
  #unsaved: Update[] = [];
  #isSaving = false;
  /** Streams of this process that clients listen on. */
  #listeners = 0;
  #stop: (() => void) | undefined;

  constructor(settings: SharedUpdatesSettings) {
    this.#settings = settings;
  }

  publish(item: Update): void {
    this.#unsaved.push(item);
    if (this.#isSaving) return;
    this.#isSaving = true;
    this.#save()
      .catch((error: unknown) => {
        this.#unsaved = [];
        this.#settings.failed(error);
      })
      .finally(() => {
        this.#isSaving = false;
      });
  }

  /** Delivers the updates of other processes from now on. */
  enter(): void {
    if (this.#listeners++ === 0) void this.#follow().catch(this.#settings.failed);
  }

  leave(): void {
    if (--this.#listeners > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }

  async #follow(): Promise<void> {
    const { table, from, deliver } = this.#settings;
    const first = await table.find(id, owner);
    if (this.#listeners === 0 || this.#stop !== undefined) return;
    let read = first?.body.count ?? 0;
    this.#stop = table.follow(id, first, (record) => {
      if (record === undefined) {
        // It has expired, and will begin again.
        this.#stop?.();
        this.#stop = undefined;
        if (this.#listeners > 0) void this.#follow().catch(this.#settings.failed);
        return;
      }
      const { count, updates } = record.body;
      const unread = Math.min(count - read, updates.length);
      read = count;
      if (unread <= 0) return;
      for (const each of updates.slice(-unread)) if (each.from !== from) deliver(each.item);
    });
  }

  async #save(): Promise<void> {
    const { table, store, now, from } = this.#settings;
    while (this.#unsaved.length > 0) {
      const added = this.#unsaved.slice(-mostUpdates).map((item) => ({ from, item }));
      this.#unsaved = [];
      const add = ({ count, updates }: UpdatesBody): UpdatesBody => ({
        kind: "updates",
        count: count + added.length,
        updates: [...updates, ...added].slice(-mostUpdates),
      });
      const changed = await table.change(id, owner, (record) => ({
        record: { ...record, version: record.version + 1, body: add(record.body) },
      }));
      if (changed !== undefined) continue;
      const first: UpdatesRecord = {
        id,
        owner,
        group: "updates",
        state: "open",
        phase: "waiting",
        version: 1,
        changedAt: now(),
        ttlMs: keepMs,
        bytes: 64 * 1024,
        body: add({ kind: "updates", count: 0, updates: [] }),
      };
      if (!(await store.save(first))) this.#unsaved.unshift(...added.map(({ item }) => item));
    }
  }
}
