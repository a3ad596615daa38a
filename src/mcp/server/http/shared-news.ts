import type { WorkRecord, WorkStore } from "../../../work/work-store.ts";
import type { WorkTable } from "../../../work/work-table.ts";
import type { News } from "../changes.ts";

/** The last news of all processes, as they are stored. */
export interface NewsBody {
  readonly kind: "news";
  /** How many there have been; the last ones are `news`. */
  readonly count: number;
  readonly news: readonly { readonly from: string; readonly item: News }[];
}

type NewsRecord = WorkRecord<NewsBody>;

const id = "mcp-news";
const owner = JSON.stringify(["mcp", "news"]);
/** News are read within a fraction of a second; older ones are dropped. */
const mostNews = 200;
const keepMs = 30 * 24 * 3_600_000;

export interface SharedNewsSettings {
  readonly store: WorkStore;
  readonly table: WorkTable<NewsBody>;
  readonly now: () => number;
  /** The name of this process. */
  readonly from: string;
  /** Notifies the clients that listen at this process. */
  deliver(item: News): void;
  failed(error: unknown): void;
}

/** Changes that one process of a fleet reports, and clients of all processes want to know. */
export class SharedNews {
  readonly #settings: SharedNewsSettings;
  #unsaved: News[] = [];
  #isSaving = false;
  /** Streams of this process that clients listen on. */
  #listeners = 0;
  #stop: (() => void) | undefined;

  constructor(settings: SharedNewsSettings) {
    this.#settings = settings;
  }

  publish(item: News): void {
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

  /** Delivers the news of other processes from now on. */
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
      const { count, news } = record.body;
      const unread = Math.min(count - read, news.length);
      read = count;
      if (unread <= 0) return;
      for (const each of news.slice(-unread)) if (each.from !== from) deliver(each.item);
    });
  }

  async #save(): Promise<void> {
    const { table, store, now, from } = this.#settings;
    while (this.#unsaved.length > 0) {
      const added = this.#unsaved.slice(-mostNews).map((item) => ({ from, item }));
      this.#unsaved = [];
      const add = ({ count, news }: NewsBody): NewsBody => ({
        kind: "news",
        count: count + added.length,
        news: [...news, ...added].slice(-mostNews),
      });
      const changed = await table.change(id, owner, (record) => ({
        record: { ...record, version: record.version + 1, body: add(record.body) },
      }));
      if (changed !== undefined) continue;
      const first: NewsRecord = {
        id,
        owner,
        group: "news",
        state: "open",
        phase: "waiting",
        version: 1,
        changedAt: now(),
        ttlMs: keepMs,
        bytes: 64 * 1024,
        body: add({ kind: "news", count: 0, news: [] }),
      };
      if (!(await store.save(first))) this.#unsaved.unshift(...added.map(({ item }) => item));
    }
  }
}
