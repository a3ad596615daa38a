import { createHmac, randomUUID } from "node:crypto";
import { consoleLog } from "../../../protocol/console-log.ts";
import { WireError } from "../../../protocol/errors.ts";
import type { Link, Outgoing } from "../../../protocol/link.ts";
import { type Log, safeLog } from "../../../protocol/log.ts";
import type { Request } from "../../../protocol/message.ts";
import { requestText } from "../../../protocol/serialize.ts";
import { createHeaders, type MsgHdrs, type NatsConnection } from "../client-library.ts";
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
  /** How many times this one was sent. If more than once, it may be a duplicate of itself. */
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
  requireOpen(connection);
  const queue = new DurableQueue(options);
  const { timeoutMs = 30_000, attemptMs = 2_000, messageIdSecret: secret } = options;
  if (options.key !== undefined && queue.partitions < 1) {
    throw new TypeError('"key" needs "partitions", the same number as the workers have');
  }
  requireMs("timeoutMs", timeoutMs, 1);
  requireMs("attemptMs", attemptMs, 1);
  if (secret !== undefined && !(typeof secret === "string" && secret.length >= shortestSecret)) {
    throw new TypeError(
      `"messageIdSecret" must be a string of ${shortestSecret} characters or more`,
    );
  }
  const log = safeLog(options.log ?? consoleLog);
  const inTurn = turns();
  let isClosed = false;

  const send = async (request: Request, outgoing: Outgoing): Promise<undefined> => {
    if (request.id !== undefined) {
      const message = "a durable link sends notifications only; nothing would answer a call";
      throw new WireError("UNSUPPORTED", message);
    }
    const { jsonrpc, method, params, types } = request;
    const { headers, messageId } = headersOf(request, outgoing, options);
    const key = options.key?.(request);
    if (key !== undefined && typeof key !== "string") {
      throw new TypeError(`"key" must return a string or undefined, not ${key}`);
    }
    const subject = queue.subjectOf(method, key);
    const msgID =
      messageId === undefined ? randomUUID() : messageIdOf([subject, messageId], secret);
    const storable: Storable = {
      subject,
      stream: queue.stream,
      text: requestText({ jsonrpc, method, params, types }),
      options: { headers, msgID },
      end: performance.now() + timeoutMs,
      attemptMs,
      requireOpen: () => {
        if (isClosed) throw new WireError("CLOSED", "the link is closed");
      },
    };
    const run = (): Promise<Stored> => store(connection, storable);
    const stored = await (key === undefined ? run() : inTurn(key, run));
    if (!stored.duplicate || messageId === undefined) return;
    // Only the caller can tell its own repetition from an id that another publisher used.
    const { stream, seq, attempts } = stored;
    const duplicate = { method, messageId, subject, stream, seq, attempts };
    log.warn(duplicate, "a notification was not stored: its message id is a duplicate");
    try {
      options.onDuplicate?.(duplicate);
    } catch (err) {
      log.error({ err }, "onDuplicate threw");
    }
  };
  return {
    send,
    sendBatch: (requests, outgoing) =>
      requests.map((request, i) => send(request, outgoing[i] as Outgoing)),
    async close() {
      isClosed = true;
    },
  };
}

function headersOf(
  request: Request,
  outgoing: Outgoing,
  options: DurableLinkOptions,
): { readonly headers: MsgHdrs; readonly messageId: string | undefined } {
  const { traceparent, tracestate, baggage } = request;
  const carried = { traceparent, tracestate, baggage, ...outgoing.headers };
  const headers = createHeaders();
  let messageId = options.messageId?.(request);
  for (const [name, value] of Object.entries(carried)) {
    if (name.toLowerCase() === "nats-msg-id") messageId ??= value;
    else if (value !== undefined) setHeader(headers, name, value);
  }
  // JetStream ignores an empty id.
  if (messageId?.trim() === "")
    throw new WireError("UNSUPPORTED", "a message id must not be empty");
  // Only to refuse what a header cannot hold; what is sent is a hash.
  if (messageId !== undefined) setHeader(createHeaders(), "nats-msg-id", messageId);
  return { headers, messageId };
}

/** Runs those of one key one at a time, so that a retry is not overtaken by the next. */
function turns(): (key: string, run: () => Promise<Stored>) => Promise<Stored> {
  /** The last of each key that still runs. */
  const tails = new Map<string, Promise<unknown>>();
  return async (key, run) => {
    const stored = tails.get(key)?.then(run) ?? run();
    const tail = stored.catch(() => {});
    tails.set(key, tail);
    try {
      return await stored;
    } finally {
      if (tails.get(key) === tail) tails.delete(key);
    }
  };
}

/**
 * The id under which a stream stores a message. A stream checks the ids of all its subjects together, so the subject is part of the id:
 * otherwise a user of one subject could use up the ids of another.
 */
export function messageIdOf(parts: readonly (string | number)[], secret = ""): string {
  return createHmac("sha256", secret).update(JSON.stringify(parts)).digest("base64url");
}
