import cluster, { type Worker } from "node:cluster";
import type { Clock } from "../../protocol/clock.ts";
import { isOurs, type PrimaryMessage, type WorkerMessage } from "./messages.ts";

export interface WorkerEvents {
  readonly message: (worker: WorkerProcess, message: WorkerMessage) => void;
  readonly exit: (worker: WorkerProcess, how: string) => void;
}

/** How long a worker may take to exit after its calls have finished, before it is killed. */
const exitMs = 5_000;

/** A worker, as the primary sees it. */
export class WorkerProcess {
  /** The last known snapshot of each shared page, by path. */
  readonly snapshots = new Map<string, unknown>();
  /** Resolves with the port that it listens on; rejects if it exits before. */
  readonly ready: Promise<number>;
  readonly exited: Promise<void>;
  readonly startedAt: number;
  isReady = false;
  isStopping = false;
  readonly #worker: Worker;
  readonly #clock: Clock;

  constructor(clock: Clock, env: Readonly<Record<string, string>>, events: WorkerEvents) {
    this.#clock = clock;
    this.startedAt = clock.elapsed();
    this.#worker = cluster.fork(env);
    let begin: (port: number) => void;
    let fail: (error: Error) => void;
    this.ready = new Promise((resolve, reject) => {
      begin = resolve;
      fail = reject;
    });
    // It is awaited only while the worker starts.
    this.ready.catch(() => {});
    this.#worker.on("message", (message: unknown) => {
      if (!isOurs(message)) return;
      const ours = message as WorkerMessage;
      if (ours.callwire === "ready") {
        this.isReady = true;
        begin(ours.port);
      } else events.message(this, ours);
    });
    // Sending to a worker that is about to exit fails; its exit follows.
    this.#worker.on("error", () => {});
    this.exited = new Promise((resolve) => {
      this.#worker.on("exit", (code, signal) => {
        const how = signal === null || signal === undefined ? `code ${code}` : `${signal}`;
        const early = new Error(`a worker exited with ${how} before it was ready`);
        fail(Object.assign(early, { name: "WorkerExit", exitCode: code }));
        events.exit(this, how);
        resolve();
      });
    });
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  /** False if it can no longer be reached. */
  send(message: PrimaryMessage): boolean {
    if (!this.#worker.isConnected()) return false;
    this.#worker.send(message, () => {});
    return true;
  }

  /** Lets its calls finish; resolves when the process has ended. */
  async stop(drainMs: number): Promise<void> {
    this.isStopping = true;
    const isTold = this.isReady && this.send({ callwire: "stop", drainMs });
    if (!isTold) this.#worker.process.kill("SIGTERM");
    const late = this.#clock.after(drainMs + exitMs, () => this.#worker.process.kill("SIGKILL"));
    await this.exited;
    late.cancel();
  }
}
