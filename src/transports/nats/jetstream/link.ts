import { createHmac, randomUUID } from "node:crypto";
import { consoleLog } from "../../../protocol/console-log.ts";
import { WireError } from "../../../protocol/errors.ts";
import type { Link, Outgoing } from "../../../protocol/link.ts";
import { type Log, steadyLog } from "../../../protocol/log.ts";
import type { Reply, Request } from "../../../protocol/message.ts";
import { requestText } from "../../../protocol/serialize.ts";
import { createHeaders, type NatsConnection } from "../client-library.ts";
import { requireOpen } from "../connection.ts";
import { setHeader } from "../headers.ts";
import { requireMs } from "../options.ts";
import { type DurableOptions, DurableQueue } from "./queue.ts";
import { type Storable, type Stored, store } from "./store.ts";

/** A notification that the stream did not store, because it has already stored one with the same message id. */
export interface DuplicateNotification {
  readonly method: string;
  /** As it was given. */
  readonly messageId: string;
  readonly subject: string;
  readonly stream: string;
  /** The number in the stream of the notification that was stored before. */
  readonly seq: number;
  /** How often this one was sent. If more than once, it may be a duplicate of itself. */
  readonly attempts: number;
}

export interface DurableLinkOptions extends DurableOptions {
  /** How long to try to store a notification. Shorter than an election, a lost node fails notifications. @default 30000 */
  readonly timeoutMs?: number | undefined;
  /** After this time without a confirmation a notification is sent again; JetStream stores it once, by its message id. @default 2000 */
  readonly attemptMs?: number | undefined;
  /** Returns the key of a notification; those with the same key are handled one after the other, in order. @default none */
  readonly key?: ((request: Request) => string | undefined) | undefined;
  /** Returns the id by which a repetition on the same subject is recognized; the header `nats-msg-id` of a call does the same. @default a new id for each */
  readonly messageId?: ((request: Request) => string | undefined) | undefined;
  /**
   * Makes message ids unguessable, at least 16 characters. Without it, a user that may publish to any subject of the stream and guesses an
   * id can send it first, and your notification is not stored. Use the same secret in all links that repeat each other's notifications.
   * @default none
   */
  readonly messageIdSecret?: string | undefined;
  /** Called for each notification with your own message id that the stream did not store because it is a repetition. */
  readonly onDuplicate?: ((duplicate: DuplicateNotification) => void) | undefined;
  /** Receives a warning for each duplicate. @default the console */
  readonly log?: Log | undefined;
}

/** A shorter secret could be found by trying. */
const shortestSecret = 16;

/**
 * Sends notifications that must not be lost: `await client.notify(…)` resolves once JetStream has stored the notification, and rejects if
 * that is not certain. Calls fail, since nothing would answer them.
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
  /** The last notification of each key that is still being stored. */
  readonly #tails = new Map<string, Promise<void>>();
  #closed = false;

  constructor(connection: NatsConnection, options: DurableLinkOptions) {
    requireOpen(connection);
    this.#connection = connection;
    this.#options = options;
    this.#queue = new DurableQueue(options);
    if (options.key !== undefined && this.#queue.partitions < 1) {
      throw new TypeError('"key" needs "partitions", the same number as the workers have');
    }
    const { timeoutMs = 30_000, attemptMs = 2_000, messageIdSecret: secret } = options;
    requireMs("timeoutMs", timeoutMs, 1);
    requireMs("attemptMs", attemptMs, 1);
    this.#timeoutMs = timeoutMs;
    this.#attemptMs = attemptMs;
    if (secret !== undefined && !(typeof secret === "string" && secret.length >= shortestSecret)) {
      throw new TypeError(
        `"messageIdSecret" must be a string of ${shortestSecret} characters or more`,
      );
    }
    this.#log = steadyLog(options.log ?? consoleLog);
  }

  async send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    if (request.id !== undefined) {
      const message = "a durable link sends notifications only; nothing would answer a call";
      throw new WireError("UNSUPPORTED", message);
    }
    const { jsonrpc, method, params, traceparent, tracestate } = request;
    const { messageId, messageIdSecret } = this.#options;
    const headers = createHeaders();
    let id = messageId?.(request);
    for (const [name, value] of Object.entries({ traceparent, tracestate, ...outgoing.headers })) {
      if (name.toLowerCase() === "nats-msg-id") id ??= value;
      else if (value !== undefined) setHeader(headers, name, value);
    }
    // JetStream ignores an empty id.
    if (id?.trim() === "") throw new WireError("UNSUPPORTED", "a message id must not be empty");
    // Only to refuse what a header cannot hold; what is sent is a hash.
    if (id !== undefined) setHeader(createHeaders(), "nats-msg-id", id);
    const key = this.#options.key?.(request);
    if (key !== undefined && typeof key !== "string") {
      throw new TypeError(`"key" must return a string or undefined, not ${key}`);
    }
    const subject = this.#queue.subjectOf(method, key);
    const storable: Storable = {
      subject,
      stream: this.#queue.stream,
      text: requestText({ jsonrpc, method, params }),
      options: {
        headers,
        msgID: id === undefined ? randomUUID() : messageIdOf([subject, id], messageIdSecret),
      },
      end: performance.now() + this.#timeoutMs,
      attemptMs: this.#attemptMs,
      requireOpen: this.#requireOpen,
    };
    const run = (): Promise<Stored> => store(this.#connection, storable);
    const { duplicate, stream, seq, attempts } = await (key === undefined
      ? run()
      : this.#inTurn(key, run));
    if (duplicate && id !== undefined)
      this.#report({ method, messageId: id, subject, stream, seq, attempts });
    return undefined;
  }

  /** Only the caller can tell its own repetition from an id that another publisher used. */
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

  readonly #requireOpen = (): void => {
    if (this.#closed) throw new WireError("CLOSED", "the link is closed");
  };

  /** Stores notifications of one key one at a time, so that a retry is not overtaken by the next. */
  async #inTurn(key: string, run: () => Promise<Stored>): Promise<Stored> {
    const stored = this.#tails.get(key)?.then(run) ?? run();
    const tail = stored.then(
      () => {},
      () => {},
    );
    this.#tails.set(key, tail);
    try {
      return await stored;
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}

/**
 * The id under which a stream stores a message. A stream checks the ids of all its subjects together, so the subject is part of the id:
 * otherwise a user of one subject could use up the ids of another.
 */
export function messageIdOf(parts: readonly (string | number)[], secret = ""): string {
  return createHmac("sha256", secret).update(JSON.stringify(parts)).digest("base64url");
}
