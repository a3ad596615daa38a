import type { Clock, Timer } from "../protocol/clock.ts";
import type { Log } from "../protocol/log.ts";
import type { PushConfig, StreamResponse } from "./model.ts";

/** Delivers one notification; resolves to the HTTP status of the receiver. Rejects if it cannot be reached. */
export interface Webhooks {
  /** Why notifications to this URL are refused, or undefined. */
  refusal(url: string): Promise<string | undefined>;
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<number>;
}

/** How often an event is sent until the receiver takes it, and how long each attempt may take. */
const maxAttempts = 4;
const timeoutMs = 10_000;
/** The wait before the second attempt; it doubles. */
const firstWaitMs = 500;
/** Most events that wait for one receiver; later ones are dropped, and logged. */
const maxWaiting = 1_000;

/** Sends the events of tasks to webhooks: in order for each, retried, and at least once. */
export class PushSender {
  readonly #webhooks: Webhooks;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #queues = new Map<string, StreamResponse[]>();
  readonly #closed = new AbortController();
  /** Ends the waits for further attempts. A signal would warn of so many listeners. */
  readonly #waits = new Set<() => void>();

  constructor(webhooks: Webhooks, clock: Clock, log: Log) {
    this.#webhooks = webhooks;
    this.#clock = clock;
    this.#log = log;
  }

  /** Why notifications to this URL are refused, or undefined. */
  refusal(url: string): Promise<string | undefined> {
    return this.#webhooks.refusal(url);
  }

  send(config: PushConfig, event: StreamResponse): void {
    const key = `${config.taskId} ${config.id}`;
    const queue = this.#queues.get(key);
    if (queue === undefined) {
      const begun = [event];
      this.#queues.set(key, begun);
      void this.#deliverAll(config, begun).finally(() => this.#queues.delete(key));
    } else if (queue.length < maxWaiting) queue.push(event);
    else
      this.#log.warn(
        { task: config.taskId, push: config.id },
        "dropped a push notification: too many wait",
      );
  }

  /** Drops the notifications that wait. */
  close(): void {
    this.#closed.abort();
    for (const end of [...this.#waits]) end();
  }

  async #deliverAll(config: PushConfig, queue: StreamResponse[]): Promise<void> {
    for (;;) {
      const [event] = queue;
      if (event === undefined || this.#closed.signal.aborted) return;
      await this.#deliver(config, event);
      queue.shift();
    }
  }

  async #deliver(config: PushConfig, event: StreamResponse): Promise<void> {
    const { url, token, authentication, taskId, id } = config;
    const headers: Record<string, string> = { "content-type": "application/a2a+json" };
    if (token !== undefined) headers["x-a2a-notification-token"] = token;
    if (authentication?.credentials !== undefined)
      headers.authorization = `${authentication.scheme} ${authentication.credentials}`;
    const body = JSON.stringify(event);
    for (let attempt = 1; !this.#closed.signal.aborted; attempt++) {
      const problem = await this.#attempt(url, headers, body);
      if (problem === undefined) return;
      if (attempt === maxAttempts) {
        this.#log.warn(
          { task: taskId, push: id, problem },
          "could not deliver a push notification",
        );
        return;
      }
      await this.#wait(firstWaitMs * 2 ** (attempt - 1));
    }
  }

  async #attempt(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<string | undefined> {
    const late = new AbortController();
    const timer = this.#clock.after(timeoutMs, () => late.abort());
    try {
      const signal = AbortSignal.any([this.#closed.signal, late.signal]);
      const status = await this.#webhooks.post(url, headers, body, signal);
      return status >= 200 && status < 300 ? undefined : `the receiver answered ${status}`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      timer.cancel();
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      const done = (): void => {
        timer?.cancel();
        this.#waits.delete(done);
        resolve();
      };
      timer = this.#clock.after(ms, done, true);
      this.#waits.add(done);
    });
  }
}
