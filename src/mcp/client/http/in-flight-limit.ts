import { WireError } from "../../../protocol/errors.ts";
import type { Payload } from "../../../protocol/exchange.ts";
import type { Request } from "../../../protocol/message.ts";
import { isHandshake } from "../handshake.ts";

/** Stays open as long as the subscription, so it does not count as in flight. */
const listening = "subscriptions/listen";
/** Calls in flight may depend on these, so they never wait for one. */
const urgent: ReadonlySet<string> = new Set([
  "logging/setLevel",
  "ping",
  "tasks/cancel",
  "tasks/update",
]);

/** The option `maxInFlight`, checked. */
export function inFlightOf({ maxInFlight = 256 }: { readonly maxInFlight?: number | undefined }) {
  if (Number.isInteger(maxInFlight) && maxInFlight > 0) return maxInFlight;
  throw new TypeError(`"maxInFlight" must be an integer of at least 1, not ${maxInFlight}`);
}

/** Bounds the calls in flight; the others wait in order. */
export class InFlightLimit {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether a call could start without waiting. */
  get #isFree(): boolean {
    return this.#running < this.#most;
  }

  /** Whether to send a message at once, on a connection of its own, without counting it. */
  isPassedBy({ requests, expectsReply }: Payload): boolean {
    const [{ method }] = requests as readonly [Request];
    const mayWait = expectsReply && !isHandshake(method) && !urgent.has(method);
    return method === listening || !(mayWait || this.#isFree);
  }

  /** Sends the payload when its turn comes; if it is cancelled before, it is never sent. */
  async run<T>(payload: Payload, send: () => Promise<T>): Promise<T> {
    if (this.#isFree) this.#running++;
    else await this.#turn(payload);
    try {
      if (payload.cancelled) throw cancelled();
      return await send();
    } finally {
      this.#pass();
    }
  }

  #turn(payload: Payload): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(resolve);
      const cancel = (): void => {
        this.#waiting.delete(resolve);
        reject(cancelled());
      };
      payload.onCancel = cancel;
    });
  }

  /** Passes the place to the call that has waited longest. */
  #pass(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#running--;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}

/** The caller has already received the reason. */
function cancelled(): WireError {
  return new WireError("ABORTED", "the call was cancelled before it was sent");
}

/** Most answers on their way to the server. */
const mostAnswers = 64;

/** Bounds the answers to the server's requests: it could send any number of requests and read no answer. */
export class AnswersInFlight {
  #count = 0;
  readonly #waiting: (() => void)[] = [];

  async send(post: () => Promise<void>): Promise<void> {
    this.#count++;
    try {
      await post();
    } finally {
      this.#count--;
      for (const resume of this.#waiting.splice(0)) resume();
    }
  }

  /** Resolves when the next request of the server may be read; undefined if it may be now. */
  room(): Promise<void> | undefined {
    if (this.#count < mostAnswers) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
