import type { Clock, Timer } from "../protocol/clock.ts";
import type { Log } from "../protocol/log.ts";
import type { TaskPush } from "./task-record.ts";

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

/** Most attempts to deliver an event, and how long each may take. */
const maxAttempts = 4;
const timeoutMs = 10_000;
/** The wait before the second attempt; it doubles. */
const firstWaitMs = 500;
/** Most events that wait for one receiver, and most characters that wait for all; later ones are dropped, and logged. */
const maxWaiting = 1_000;
const maxWaitingLength = 16 * 1024 * 1024;
/** Most attempts at the same time; each has its own connection. */
const maxAttemptsAtOnce = 100;

/** Sends the events of tasks to webhooks: in order for each, retried, and at least once. */
export class PushSender {
  readonly #webhooks: Webhooks;
  readonly #clock: Clock;
  readonly #log: Log;
  /** The events that wait, as JSON. */
  readonly #queues = new Map<string, string[]>();
  #waitingLength = 0;
  #attempts = 0;
  /** Deliveries that wait until another attempt has ended. */
  readonly #inLine: (() => void)[] = [];
  /** What ends the attempts and waits of this moment. */
  readonly #enders = new Set<() => void>();
  #isClosed = false;

  constructor(webhooks: Webhooks, clock: Clock, log: Log) {
    this.#webhooks = webhooks;
    this.#clock = clock;
    this.#log = log;
  }

  /** Why notifications to this URL are refused, or undefined. */
  refusal(url: string): Promise<string | undefined> {
    return this.#webhooks.refusal(url);
  }

  /** Delivers an event, which is JSON. */
  send(push: TaskPush, body: string): void {
    if (this.#isClosed) return;
    const { config } = push;
    const key = `${config.taskId} ${config.id}`;
    const queue = this.#queues.get(key);
    const isFull = (queue?.length ?? 0) >= maxWaiting;
    // The first one also keeps its webhook, whose secrets may be longer than the event.
    const length = body.length + (queue === undefined ? JSON.stringify(config).length : 0);
    if (isFull || this.#waitingLength + length > maxWaitingLength) {
      this.#log.warn(
        { task: config.taskId, push: config.id },
        "dropped a push notification: too many are waiting",
      );
      return;
    }
    this.#waitingLength += length;
    if (queue !== undefined) queue.push(body);
    else {
      const begun = [body];
      this.#queues.set(key, begun);
      void this.#deliverAll(push, begun).finally(() => {
        this.#queues.delete(key);
        this.#waitingLength -= length - body.length;
      });
    }
  }

  /** Drops the notifications that wait. */
  close(): void {
    this.#isClosed = true;
    for (const end of [...this.#enders]) end();
    for (const goOn of this.#inLine.splice(0)) goOn();
  }

  async #deliverAll(push: TaskPush, queue: string[]): Promise<void> {
    for (;;) {
      const [body] = queue;
      if (body === undefined || this.#isClosed) return;
      await this.#deliver(push, body);
      this.#waitingLength -= body.length;
      queue.shift();
    }
  }

  async #deliver({ config, isLegacy }: TaskPush, body: string): Promise<void> {
    const { url, token, authentication, taskId, id } = config;
    const contentType = isLegacy ? "application/json" : "application/a2a+json";
    const headers: Record<string, string> = { "content-type": contentType };
    if (token !== undefined) headers["x-a2a-notification-token"] = token;
    if (authentication?.credentials !== undefined)
      headers.authorization = `${authentication.scheme} ${authentication.credentials}`;
    for (let attempt = 1; !this.#isClosed; attempt++) {
      const problem = await this.#inTurn(() => this.#attempt(url, headers, body));
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

  async #inTurn<T>(attempt: () => Promise<T>): Promise<T | undefined> {
    if (this.#attempts >= maxAttemptsAtOnce)
      await new Promise<void>((resolve) => this.#inLine.push(resolve));
    if (this.#isClosed) return undefined;
    this.#attempts++;
    try {
      return await attempt();
    } finally {
      this.#attempts--;
      this.#inLine.shift()?.();
    }
  }

  async #attempt(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<string | undefined> {
    const late = new AbortController();
    const abort = (): void => late.abort();
    const timer = this.#clock.after(timeoutMs, abort);
    this.#enders.add(abort);
    try {
      const status = await this.#webhooks.post(url, headers, body, late.signal);
      return status >= 200 && status < 300 ? undefined : `the receiver answered ${status}`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      timer.cancel();
      this.#enders.delete(abort);
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      const done = (): void => {
        timer?.cancel();
        this.#enders.delete(done);
        resolve();
      };
      timer = this.#clock.after(ms, done, true);
      this.#enders.add(done);
    });
  }
}
