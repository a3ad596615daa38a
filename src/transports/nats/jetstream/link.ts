import { WireError } from "../../../protocol/errors.ts";
import type { Link, Outgoing } from "../../../protocol/link.ts";
import type { Reply, Request } from "../../../protocol/message.ts";
import { requestText } from "../../../protocol/serialize.ts";
import { createHeaders, createInbox, type NatsConnection } from "../client-library.ts";
import { fitsInto, isRefusedByClient, maxBytesOf, tooLarge } from "../payload-limit.ts";
import { jetstream } from "./client-library.ts";
import { type DurableOptions, DurableQueue } from "./queue.ts";

export interface DurableLinkOptions extends DurableOptions {
  /** Within this time the engine has to store a notification. @default 30000, longer than a cluster takes to elect a leader */
  readonly timeoutMs?: number | undefined;
  /** After this time without an answer it is sent again; the engine knows a repetition by its message id. @default 2000 */
  readonly attemptMs?: number | undefined;
  /** Those with one key are handled one after the other, in the order in which they were stored. @default none */
  readonly key?: ((request: Request) => string | undefined) | undefined;
  /** What tells a repetition; also the header `nats-msg-id` of a call. @default a new one for each */
  readonly messageId?: ((request: Request) => string | undefined) | undefined;
}

/**
 * Carries notifications that must not be lost: `await client.notify(…)` returns once the engine has
 * stored it, and rejects if that is not certain. It carries nothing else, since nobody answers.
 */
export function durableLink(connection: NatsConnection, options: DurableLinkOptions): Link {
  return new DurableLink(connection, options);
}

const longestWaitMs = 250;

class DurableLink implements Link {
  readonly #connection: NatsConnection;
  readonly #options: DurableLinkOptions;
  readonly #queue: DurableQueue;
  #closed = false;

  constructor(connection: NatsConnection, options: DurableLinkOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#queue = new DurableQueue(options);
    if (options.key !== undefined && this.#queue.partitions < 1) {
      throw new TypeError("keys need partitions, the same number here and at the workers");
    }
  }

  async send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    if (request.id !== undefined) {
      const sentence = "a durable link carries notifications only; nobody would answer a call";
      throw new WireError("UNSUPPORTED", sentence);
    }
    const { traceparent, tracestate } = request;
    const { messageId, key } = this.#options;
    const headers = createHeaders();
    let id = messageId?.(request);
    for (const [name, value] of Object.entries({ traceparent, tracestate, ...outgoing.headers })) {
      if (name.toLowerCase() === "nats-msg-id") id ??= value;
      else if (value !== undefined) headers.set(name.toLowerCase(), value);
    }
    const { jsonrpc, method, params } = request;
    const text = requestText({ jsonrpc, method, params });
    const subject = this.#queue.subjectOf(method, key?.(request));
    await this.#store(subject, text, { headers, msgID: id ?? createInbox("m").slice(2) });
    return undefined;
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

  async #store(
    subject: string,
    text: string,
    options: { headers: ReturnType<typeof createHeaders>; msgID: string },
  ): Promise<void> {
    const { timeoutMs = 30_000, attemptMs = 2_000 } = this.#options;
    const maxBytes = maxBytesOf(this.#connection);
    if (!fitsInto(maxBytes, text)) throw tooLarge(maxBytes);
    const end = performance.now() + timeoutMs;
    let cause: unknown;
    let waitMs = 25;
    for (let leftMs = timeoutMs; leftMs > 0; leftMs = end - performance.now()) {
      if (this.#closed) throw new WireError("CLOSED", "the link is closed");
      try {
        const timeout = Math.max(1, Math.min(attemptMs, leftMs));
        await jetstream(this.#connection, { timeout }).publish(subject, text, options);
        return;
      } catch (error) {
        cause = error;
        if (isRefusedByClient(error)) throw tooLarge(maxBytes, error);
        if (this.#connection.isClosed() || (error as Error).name === "JetStreamApiError") break;
        // A cluster that lost the leader of the stream takes some seconds to elect another, and nobody
        // waits longer than that.
        waitMs = Math.min(longestWaitMs, waitMs * 2);
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
    const sentence = "NATS did not confirm that it has stored the notification";
    throw new WireError("CONNECTION_LOST", sentence, { cause });
  }
}
