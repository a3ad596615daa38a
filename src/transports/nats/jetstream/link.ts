import { randomUUID } from "node:crypto";
import { consoleLog } from "../../../protocol/console-log.ts";
import { WireError } from "../../../protocol/errors.ts";
import type { Link, Outgoing } from "../../../protocol/link.ts";
import { type Log, steadyLog } from "../../../protocol/log.ts";
import type { Reply, Request } from "../../../protocol/message.ts";
import { requestText } from "../../../protocol/serialize.ts";
import { createHeaders, type NatsConnection } from "../client-library.ts";
import { setHeader } from "../headers.ts";
import { mustBeOpen } from "../open-connection.ts";
import { requireMs } from "../option-checks.ts";
import { messageIdOf, requireSecret } from "./message-id.ts";
import { type DurableOptions, DurableQueue } from "./queue.ts";
import { type Spare, type Stored, type Storing, store } from "./storing.ts";

/** A notification that the stream did not store, because it has stored one with the same message id before. */
export interface DuplicateNotification {
  readonly method: string;
  /** As it was given. */
  readonly messageId: string;
  readonly subject: string;
  readonly stream: string;
  /** The number in the stream of the one that was stored before. */
  readonly seq: number;
  /** How often this one was sent. After more than once, it may be a duplicate of itself. */
  readonly attempts: number;
}

export interface DurableLinkOptions extends DurableOptions {
  /** Within this time the engine has to store a notification. @default 30000, longer than a cluster takes to elect a leader */
  readonly timeoutMs?: number | undefined;
  /** After this time without an answer it is sent again; the engine knows a repetition by its message id. @default 2000 */
  readonly attemptMs?: number | undefined;
  /** Those with one key are handled one after the other, in the order in which they were given. @default none */
  readonly key?: ((request: Request) => string | undefined) | undefined;
  /** What tells a repetition on the same subject; also the header `nats-msg-id` of a call. @default a new one for each */
  readonly messageId?: ((request: Request) => string | undefined) | undefined;
  /**
   * Keeps others from computing your message ids: without it, whoever may publish to any subject of the stream and guesses an id can use
   * it up, and your notification is not stored. The same for all links that repeat each other's notifications. @default none
   */
  readonly messageIdSecret?: string | undefined;
  /** Called for each notification with a message id of yours that the stream took for a repetition; it is not stored again. */
  readonly onDuplicate?: ((duplicate: DuplicateNotification) => void) | undefined;
  /** Gets a warning for each of these. @default the console */
  readonly log?: Log | undefined;
}

/**
 * For how long a link stays with the spare stream. A stream and those who hand out what is in it elect each for
 * itself, in up to 9 seconds, and then the workers have to ask anew.
 */
const turnedMs = 15_000;

/**
 * Carries notifications that must not be lost: `await client.notify(…)` returns once the engine has
 * stored it, and rejects if that is not certain. It carries nothing else, since nobody answers.
 * @example
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { createClient } from "callwire";
 * import { durableLink } from "callwire/nats/jetstream";
 *
 * const connection = await connect({ maxReconnectAttempts: -1 });
 * const jobs = createClient(durableLink(connection, { subject: "jobs" }));
 * await jobs.notify("order/placed", { order: "7" }); // JetStream has stored it
 * ```
 */
export function durableLink(connection: NatsConnection, options: DurableLinkOptions): Link {
  return new DurableLink(connection, options);
}

class DurableLink implements Link {
  readonly #connection: NatsConnection;
  readonly #options: DurableLinkOptions;
  readonly #queue: DurableQueue;
  readonly #timeoutMs: number;
  readonly #attemptMs: number;
  readonly #log: Log;
  /** What was given last with each key, until it is stored. */
  readonly #tails = new Map<string, Promise<void>>();
  /** Until then the spare stream is asked first. */
  #spareUntil = 0;
  #closed = false;

  constructor(connection: NatsConnection, options: DurableLinkOptions) {
    mustBeOpen(connection);
    this.#connection = connection;
    this.#options = options;
    this.#queue = new DurableQueue(options);
    if (options.key !== undefined && this.#queue.partitions < 1) {
      throw new TypeError("keys need partitions, the same number here and at the workers");
    }
    const { timeoutMs = 30_000, attemptMs = 2_000 } = options;
    requireMs("timeoutMs", timeoutMs, 1);
    requireMs("attemptMs", attemptMs, 1);
    this.#timeoutMs = timeoutMs;
    this.#attemptMs = attemptMs;
    requireSecret(options.messageIdSecret);
    this.#log = steadyLog(options.log ?? consoleLog);
  }

  async send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    if (request.id !== undefined) {
      const sentence = "a durable link carries notifications only; nobody would answer a call";
      throw new WireError("UNSUPPORTED", sentence);
    }
    const { traceparent, tracestate } = request;
    const { messageId, messageIdSecret, key } = this.#options;
    const headers = createHeaders();
    let id = messageId?.(request);
    for (const [name, value] of Object.entries({ traceparent, tracestate, ...outgoing.headers })) {
      if (name.toLowerCase() === "nats-msg-id") id ??= value;
      else if (value !== undefined) setHeader(headers, name, value);
    }
    // The engine would know no repetition by it.
    if (id?.trim() === "") throw new WireError("UNSUPPORTED", "a message id is not empty");
    if (id !== undefined) setHeader(createHeaders(), "nats-msg-id", id);
    const { jsonrpc, method, params } = request;
    const text = requestText({ jsonrpc, method, params });
    const row = key?.(request);
    if (row !== undefined && typeof row !== "string") {
      throw new TypeError(`a key is a string or undefined, not ${row}`);
    }
    const subject = this.#queue.subjectOf(method, row);
    const storing: Storing = {
      subject,
      stream: this.#queue.stream,
      // Those of one key have to stay in one stream, where they have an order.
      spare: row === undefined ? this.#spareFor(method) : undefined,
      isNamed: id !== undefined,
      text,
      options: {
        headers,
        msgID: id === undefined ? randomUUID() : messageIdOf([subject, id], messageIdSecret),
      },
      end: performance.now() + this.#timeoutMs,
      attemptMs: this.#attemptMs,
      mayGoOn: this.#mayGoOn,
    };
    const run = (): Promise<Stored> => store(this.#connection, storing);
    const { duplicate, stream, seq, attempts } = await (row === undefined
      ? run()
      : this.#inTurn(row, run));
    if (duplicate && id !== undefined)
      this.#report({ method, messageId: id, subject, stream, seq, attempts });
    return undefined;
  }

  /** It may be a repetition of the caller's own, or somebody else may have used up its id: only the caller can tell. */
  #report(duplicate: DuplicateNotification): void {
    this.#log.warn(duplicate, "a notification was not stored: its message id is a duplicate");
    try {
      this.#options.onDuplicate?.(duplicate);
    } catch (err) {
      this.#log.error({ err }, "onDuplicate threw");
    }
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    return requests.map((request, i) => this.send(request, outgoing[i] as Outgoing));
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  readonly #mayGoOn = (): void => {
    if (this.#closed) throw new WireError("CLOSED", "the link is closed");
  };

  #spareFor(method: string): Spare {
    return {
      ...this.#queue.spareSubjectsOf(method),
      isPreferred: performance.now() < this.#spareUntil,
      prefer: () => {
        this.#spareUntil = performance.now() + turnedMs;
      },
    };
  }

  /** One that has to be sent again must not be overtaken by the next with its key. */
  async #inTurn(row: string, run: () => Promise<Stored>): Promise<Stored> {
    const stored = this.#tails.get(row)?.then(run) ?? run();
    const tail = stored.then(
      () => {},
      () => {},
    );
    this.#tails.set(row, tail);
    try {
      return await stored;
    } finally {
      if (this.#tails.get(row) === tail) this.#tails.delete(row);
    }
  }
}
