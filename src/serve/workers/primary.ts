import cluster from "node:cluster";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { availableParallelism } from "node:os";
import type { Timer } from "../../protocol/clock.ts";
import { defaultDrainMs } from "../../protocol/defaults.ts";
import type { Service } from "../../protocol/service.ts";
import { isSharedPage, type SharedPage } from "../../protocol/shared-page.ts";
import type { ServeWorkersOptions } from "../http-options.ts";
import { reachable } from "../listen-address.ts";
import { GatheredPages } from "./gathered-pages.ts";
import { portVariable, type WorkerMessage } from "./messages.ts";
import { WorkerProcess } from "./worker-process.ts";

/** Pauses before a worker that crashed is replaced. */
const firstPauseMs = 100;
const longestPauseMs = 10_000;
/** A worker that ran for this long was not broken from the start. */
const steadyMs = 10_000;

function countOf(workers: ServeWorkersOptions["workers"]): number {
  if (workers === "auto") return availableParallelism();
  if (Number.isInteger(workers) && workers >= 1) return workers;
  throw new TypeError(`workers must be "auto" or an integer of at least 1, not ${workers}`);
}

/** Chooses a port for all workers: if they listened on 0, a replacement for the last one would get another port. */
async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/**
 * The processes that share a port, in the process that started them.
 * @example
 * ```ts
 * import { HttpWorkers, serveHttp } from "callwire/http/node";
 *
 * const http = await serveHttp(server, { port: 8000, workers: "auto" });
 * // A new version is deployed: replaces the workers one by one.
 * if (http instanceof HttpWorkers) process.on("SIGHUP", () => void http.restart());
 * ```
 */
export class HttpWorkers implements AsyncDisposable {
  readonly #service: Service;
  readonly #options: ServeWorkersOptions;
  readonly #count: number;
  readonly #pages: GatheredPages;
  readonly #workers = new Set<WorkerProcess>();
  /** Workers that were started instead of crashed ones. */
  readonly #replacements = new WeakSet<WorkerProcess>();
  readonly #pauses = new Set<Timer>();
  /** Crashes in a row. */
  #crashes = 0;
  #port = 0;
  #restarting: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(service: Service, options: ServeWorkersOptions) {
    this.#service = service;
    this.#options = options;
    this.#count = countOf(options.workers);
    const pages = Object.entries(options.mounts ?? {}).filter(
      (mount): mount is [string, (typeof mount)[1] & SharedPage] => isSharedPage(mount[1]),
    );
    this.#pages = new GatheredPages(new Map(pages), service.running.clock);
  }

  /** Whether this process is not a worker itself. */
  static get isPrimary(): boolean {
    return cluster.isPrimary;
  }

  /** The port that all workers share. */
  get port(): number {
    return this.#port;
  }

  /** The URL of the service. */
  get url(): string {
    const { tls, host = "127.0.0.1", path = "/rpc" } = this.#options;
    return `${tls === undefined ? "http" : "https"}://${reachable(host)}:${this.#port}${path}`;
  }

  /** The process ids of the workers that are ready. */
  get pids(): readonly number[] {
    const ready = [...this.#workers].filter(({ isReady, isStopping }) => isReady && !isStopping);
    return ready.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  }

  /** Starts the workers; rejects if one of them cannot start. */
  start(): Promise<void> {
    const started = this.#start();
    this.#restarting = started.catch(() => {});
    return started;
  }

  async #start(): Promise<void> {
    const { port = 8000, host = "127.0.0.1" } = this.#options;
    this.#port = port === 0 ? await freePort(host) : port;
    // The first worker starts alone, so that a mistake is reported once.
    await this.#fork({ CALLWIRE_FIRST_WORKER: "1" }).ready;
    const others = Array.from({ length: this.#count - 1 }, () => this.#fork());
    try {
      await Promise.all(others.map(({ ready }) => ready));
    } catch (error) {
      await this.close();
      throw error;
    }
    this.#service.onClose(() => this.close());
  }

  /**
   * Replaces all workers, one after the other, without losing a call: each new one is ready before an old one stops. If a
   * new one cannot start, the old ones stay and the promise rejects. While the workers start, it waits for them.
   */
  restart(): Promise<void> {
    const restarted = this.#restarting.then(() => this.#restart());
    this.#restarting = restarted.catch(() => {});
    return restarted;
  }

  async #restart(): Promise<void> {
    for (const old of [...this.#workers]) {
      if (this.#closing !== undefined) return;
      if (!old.isReady || old.isStopping) continue;
      await this.#fork().ready;
      await old.stop(this.#drainMs);
    }
  }

  /** Stops all workers after their calls have finished. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #drainMs(): number {
    return this.#options.drainMs ?? defaultDrainMs;
  }

  async #close(): Promise<void> {
    for (const pause of this.#pauses) pause.cancel();
    await Promise.all(Array.from(this.#workers, (worker) => worker.stop(this.#drainMs)));
  }

  #fork(env: Readonly<Record<string, string>> = {}): WorkerProcess {
    const all = { ...env, [portVariable]: `${this.#port}` };
    const worker = new WorkerProcess(this.#service.running.clock, all, {
      message: (from, message) => void this.#receive(from, message),
      exit: (gone, how) => this.#exited(gone, how),
    });
    this.#workers.add(worker);
    return worker;
  }

  async #receive(from: WorkerProcess, message: WorkerMessage): Promise<void> {
    if (message.callwire === "snapshot") {
      this.#pages.received(from, message.path, message.id, message.value);
    } else if (message.callwire === "last") {
      for (const [path, value] of Object.entries(message.pages)) from.snapshots.set(path, value);
    } else if (message.callwire === "gather") {
      const ready = [...this.#workers].filter(({ isReady }) => isReady);
      const values = await this.#pages.gather(message.path, ready);
      from.send({ callwire: "gathered", id: message.id, values });
    }
  }

  #exited(worker: WorkerProcess, how: string): void {
    this.#workers.delete(worker);
    this.#pages.ended(worker);
    const { clock } = this.#service.running;
    // One that never became ready is reported by its promise, unless it replaced one that crashed.
    if (worker.isStopping || this.#closing !== undefined) return;
    if (!worker.isReady && !this.#replacements.has(worker)) return;
    if (worker.isReady && clock.elapsed() - worker.startedAt > steadyMs) this.#crashes = 0;
    const pauseMs = Math.min(firstPauseMs * 2 ** this.#crashes++, longestPauseMs);
    this.#service.log.error(
      { pid: worker.pid, how, restartInMs: pauseMs },
      "a worker exited unexpectedly",
    );
    const replace = (): void => {
      this.#pauses.delete(pause);
      this.#replacements.add(this.#fork());
    };
    // If no worker is left, nothing else keeps this process alive.
    const pause = clock.after(pauseMs, replace, true);
    this.#pauses.add(pause);
  }
}
