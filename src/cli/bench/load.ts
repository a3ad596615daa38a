import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Client,
  createClient,
  ErrorCode,
  isRpcError,
  type Link,
  type Params,
  WireError,
} from "callwire";
import { Failure } from "../failure.ts";
import { watchItems } from "../link-from-url.ts";
import { Latencies } from "./latencies.ts";

export interface LoadOptions {
  readonly method: string;
  readonly params: Params | undefined;
  /** Calls that are open at a time on each link. */
  readonly inflight: number;
  readonly timeoutMs: number;
  readonly durationMs: number;
  /** Call limit; the load ends at this limit or at the duration, whichever is first. */
  readonly requests: number;
  /** Calls due per second; undefined starts a call when another ends. */
  readonly rate: number | undefined;
}

/** Errors of a mistake in the command, which every call would repeat. */
const mistakes: ReadonlySet<number> = new Set([
  ErrorCode.InvalidRequest,
  ErrorCode.MethodNotFound,
  ErrorCode.InvalidParams,
  ErrorCode.Unauthenticated,
]);

/** Pause after a failed connection, so that a dead server is not flooded. */
const pauseMs = 100;

export class Load {
  readonly latencies = new Latencies();
  readonly errors = new Map<string, number>();
  readonly #links: readonly Link[];
  readonly #clients: readonly Client[];
  readonly #options: LoadOptions;
  #begunAt = 0;
  #endedAt: number | undefined;
  #taken = 0;
  readonly #ending = new AbortController();

  constructor(links: readonly Link[], options: LoadOptions) {
    const { timeoutMs } = options;
    this.#links = links;
    this.#clients = links.map((link) => createClient(link, { timeoutMs }));
    this.#options = options;
    // Each waiting caller adds a listener.
    setMaxListeners(0, this.#ending.signal);
  }

  get client(): Client {
    return this.#clients[0] as Client;
  }

  get elapsedMs(): number {
    return (this.#endedAt ?? performance.now()) - this.#begunAt;
  }

  get failed(): number {
    let sum = 0;
    for (const count of this.errors.values()) sum += count;
    return sum;
  }

  /** Calls that were due but not sent, because all earlier ones were still open. */
  get unsent(): number {
    const { rate, requests, durationMs } = this.#options;
    if (rate === undefined) return 0;
    const due = Math.floor((Math.min(this.elapsedMs, durationMs) / 1000) * rate);
    return Math.max(0, Math.min(due, requests) - this.#taken);
  }

  /** Opens each connection with a call that is not counted; rejects if that fails. */
  async open(): Promise<void> {
    const { method, params, timeoutMs } = this.#options;
    const streams = new AbortController();
    const { signal } = streams;
    setMaxListeners(0, signal);
    await Promise.all(
      this.#links.map(async (link) => {
        const client = createClient(
          watchItems(link, () => streams.abort()),
          { timeoutMs },
        );
        try {
          await client.call(method, params, { signal });
        } catch (error) {
          if (signal.aborted) {
            throw new Failure(`${method} is a stream; bench measures calls only`, { cause: error });
          }
          // Other error replies count as measurements.
          if (!isRpcError(error) || mistakes.has(error.code)) throw error;
        }
      }),
    );
  }

  async run(): Promise<void> {
    this.#begunAt = performance.now();
    const { inflight } = this.#options;
    const callers = this.#clients.flatMap((client) =>
      Array.from({ length: inflight }, () => this.#callRepeatedly(client)),
    );
    await Promise.all(callers);
    this.#endedAt ??= performance.now();
  }

  /** Ends early; open calls are cancelled and not counted. */
  async stop(): Promise<void> {
    this.#endedAt ??= performance.now();
    this.#ending.abort();
    await this.close();
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  async #callRepeatedly(client: Client): Promise<void> {
    const { method, params, requests, durationMs } = this.#options;
    while (!this.#ending.signal.aborted && this.#taken < requests && this.elapsedMs < durationMs) {
      const begun = await this.#nextStart();
      if (begun === undefined) return;
      try {
        await client.call(method, params);
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        this.#countError(error);
        if (error instanceof WireError && error.code !== "TIMEOUT") await this.#pause(pauseMs);
        if (!isRpcError(error)) continue;
      }
      if (!this.#ending.signal.aborted) this.latencies.add(performance.now() - begun);
    }
  }

  /**
   * Waits for the next call, and resolves with its start; undefined after the end. With a rate, a late call counts
   * from when it was due, so that a slow server cannot hide.
   */
  async #nextStart(): Promise<number | undefined> {
    const { rate, durationMs } = this.#options;
    const index = this.#taken++;
    if (rate === undefined) return performance.now();
    const dueMs = (index * 1000) / rate;
    if (dueMs >= durationMs) {
      this.#taken--;
      return undefined;
    }
    const due = this.#begunAt + dueMs;
    const wait = due - performance.now();
    if (wait <= 0) return due;
    await this.#pause(wait);
    // A late timer is not the server's fault.
    return this.#ending.signal.aborted ? undefined : performance.now();
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#ending.signal }).catch(() => {});
  }

  #countError(error: unknown): void {
    const code = isRpcError(error) || error instanceof WireError ? String(error.code) : "FAILED";
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
  }
}
