import type { Clock } from "../../protocol/clock.ts";
import type { SharedPage } from "../../protocol/shared-page.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** How long a busy worker may take to answer; then its last snapshot counts. */
const patienceMs = 1_000;

/** The shared pages of all workers, including those that have ended. Runs in the primary. */
export class GatheredPages {
  readonly #pages: ReadonlyMap<string, SharedPage>;
  readonly #clock: Clock;
  /** What remains of workers that have ended, by path. */
  readonly #retired = new Map<string, unknown>();
  readonly #waiting = new Map<number, (worker: WorkerProcess) => void>();
  #lastId = 0;

  constructor(pages: ReadonlyMap<string, SharedPage>, clock: Clock) {
    this.#pages = pages;
    this.#clock = clock;
  }

  /** The snapshots of all workers. */
  async gather(path: string, workers: readonly WorkerProcess[]): Promise<unknown[]> {
    const id = ++this.#lastId;
    const missing = new Set(workers);
    await new Promise<void>((resolve) => {
      const late = this.#clock.after(patienceMs, resolve);
      const received = (worker: WorkerProcess): void => {
        missing.delete(worker);
        if (missing.size > 0) return;
        late.cancel();
        resolve();
      };
      this.#waiting.set(id, received);
      for (const worker of workers) {
        if (!worker.send({ callwire: "snapshot", path, id })) received(worker);
      }
      if (workers.length === 0) resolve();
    });
    this.#waiting.delete(id);
    const known = workers.map((worker) => worker.snapshots.get(path));
    return [...known, this.#retired.get(path)].filter((value) => value !== undefined);
  }

  received(worker: WorkerProcess, path: string, id: number, value: unknown): void {
    worker.snapshots.set(path, value);
    this.#waiting.get(id)?.(worker);
  }

  /** A worker has ended: its counts are kept, because counters must not decrease. */
  ended(worker: WorkerProcess): void {
    for (const [path, snapshot] of worker.snapshots) {
      const page = this.#pages.get(path);
      if (page === undefined) continue;
      const before = this.#retired.get(path);
      const remains = page.remains(snapshot);
      this.#retired.set(path, before === undefined ? remains : page.merged([before, remains]));
    }
    worker.snapshots.clear();
    for (const received of this.#waiting.values()) received(worker);
  }
}
