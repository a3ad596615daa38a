/// <reference lib="esnext.disposable" preserve="true" />

import { type Clock, systemClock } from "../../protocol/clock.ts";
import { defaultDrainMs } from "../../protocol/defaults.ts";
import { isEnvelope } from "../../protocol/envelope.ts";
import { unparsable } from "../../protocol/json-text.ts";
import { callsDone } from "../../protocol/origin-calls.ts";
import { parsePayload } from "../../protocol/payload.ts";
import { errorText } from "../../protocol/reply-text.ts";
import type { Service } from "../../protocol/service.ts";
import type { Msg, NatsConnection, Subscription } from "./client-library.ts";
import { ConnectionState } from "./connection.ts";
import { Mailbox } from "./mailbox.ts";
import { requireMs } from "./options.ts";
import { ReplySubjects, refusedReplies } from "./reply-subjects.ts";
import { announce, EndpointStats } from "./service-protocol.ts";
import { Subjects, wrongSubject } from "./subjects.ts";

export interface ServeNatsOptions {
  /** Prefix of the subjects of the methods: `math/add` is served at `subject.math.add`. */
  readonly subject: string;
  /** Workers with the same queue share the calls. @default "q" */
  readonly queue?: string;
  /** Shown by `nats micro`. @default the subject, with - for each dot */
  readonly name?: string;
  /** Shown by `nats micro`, three numbers. @default "0.0.0" */
  readonly version?: string;
  /** Shown by `nats micro`. @default "" */
  readonly description?: string;
  /**
   * Prefixes of the inboxes of callers, as in `inboxPrefix` of their connections. A call with any other reply subject is refused. `_INBOX`
   * and the prefix of this worker's own connection are always accepted. Name only prefixes that contain nothing but inboxes: a caller can
   * make the worker publish to any subject there. @default none more
   */
  readonly inboxPrefixes?: readonly string[];
  /** How often callers of long calls and streams are probed. With `Infinity`, a stream for a caller that is gone can run forever. @default 5000 */
  readonly aliveMs?: number;
  /**
   * How long a stream runs without a sign of a caller in another account, which NATS does not report as gone; `Infinity` means no limit. Links
   * give a sign every `aliveMs`; allow more time for other callers if their streams take longer. @default 60000
   */
  readonly callerSilenceMs?: number;
  /** How long running calls may take to finish when this worker closes. @default 10000 */
  readonly drainMs?: number;
  /** The time source, for tests. @default the system clock */
  readonly clock?: Clock;
}

/**
 * Serves a service on NATS, together with all workers that have the same subject and queue.
 * @example
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { serveNats } from "callwire/nats";
 *
 * const connection = await connect({ servers: "127.0.0.1:4222", maxReconnectAttempts: -1 });
 * const worker = await serveNats(server, connection, { subject: "rpc" });
 * process.once("SIGTERM", () => worker.close());
 * ```
 */
export async function serveNats(
  service: Service,
  connection: NatsConnection,
  options: ServeNatsOptions,
): Promise<NatsWorker> {
  const worker = new NatsWorker(service, connection, options);
  // Once nats-server has answered, it knows all subscriptions.
  await connection.flush();
  return worker;
}

/** One of the workers that share the calls. The connection stays open when it closes. */
export class NatsWorker implements AsyncDisposable {
  /** Shown by `nats micro`. */
  readonly id: string;
  readonly #service: Service;
  readonly #connection: NatsConnection;
  readonly #state: ConnectionState;
  readonly #options: ServeNatsOptions;
  readonly #queue: string;
  readonly #subjects: Subjects;
  readonly #mailbox: Mailbox;
  readonly #endpoints: EndpointStats[] = [];
  /** Subscriptions for calls, which end first when the worker closes. */
  readonly #calls: Subscription[] = [];
  /** Subscriptions that last until no call runs any more. */
  readonly #others: Subscription[] = [];
  readonly #stopReports: () => void;
  #leaving: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(service: Service, connection: NatsConnection, options: ServeNatsOptions) {
    this.#service = service;
    this.#connection = connection;
    this.#state = ConnectionState.of(connection);
    this.#options = options;
    this.#queue = options.queue ?? "q";
    this.#subjects = new Subjects(options.subject);
    // NATS would reject these only after some subscriptions were made.
    if (!/^[^\s.*>]+$/.test(options.name ?? "rpc")) {
      throw new TypeError(
        `"name" must not be empty or contain spaces, dots, * or >, not "${options.name}"`,
      );
    }
    // With an empty queue, every worker would run every call.
    if (!/^\S+$/.test(this.#queue))
      throw new TypeError(`"queue" must not be empty or contain spaces, not "${this.#queue}"`);
    if (options.drainMs !== Number.POSITIVE_INFINITY) requireMs("drainMs", options.drainMs ?? 0, 0);
    // Public, so it must not help to guess other random values of this process, such as the inbox of a link.
    this.id = crypto.randomUUID();
    this.#mailbox = new Mailbox(connection, this.#subjects.worker(this.id), {
      service,
      replies: new ReplySubjects(connection, this.#subjects, options.inboxPrefixes),
      refuse: refusedReplies(service.log, options.clock ?? systemClock, options.subject),
      subjects: undefined,
      aliveMs: options.aliveMs,
      callerSilenceMs: options.callerSilenceMs,
      clock: options.clock,
    });
    this.#subscribe();
    this.#stopReports = this.#state.report(service.log, options.subject);
    service.beforeDrain?.(() => this.#leave());
    service.onClose(() => this.close());
  }

  /** Takes no more calls, so that the other workers get them, waits for running calls, and then closes. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #subscribe(): void {
    const { base, batch, any, workers } = this.#subjects;
    const names = this.#service.methodNames?.();
    // Two names can share a subject, which needs only one subscription.
    const bySubject = new Map((names ?? []).map((name) => [this.#subjects.of(name), name]));
    bySubject.delete(any);
    for (const [subject, name] of bySubject) {
      const endpoint = name.replace(/[^A-Za-z0-9_-]/g, "-");
      this.#calls.push(this.#serve(subject, endpoint, name));
    }
    if (names === undefined) this.#calls.push(this.#serve(`${base}.>`, "all"));
    else this.#calls.push(this.#serve(batch, "batch"));
    this.#calls.push(this.#serve(any, "any"));
    const receive = (message: Msg, reply: string): void => this.#receiveControl(message, reply);
    this.#others.push(this.#mailbox.listen(workers, receive));
    const { name = base.replaceAll(".", "-"), version = "0.0.0", description = "" } = this.#options;
    const identity = { name, id: this.id, version, description };
    this.#others.push(...announce(this.#mailbox, identity, () => this.#endpoints));
  }

  /** `method` is the only method with this subject, if there is one. */
  #serve(subject: string, name: string, method?: string): Subscription {
    const stats = new EndpointStats(name, subject, this.#queue);
    this.#endpoints.push(stats);
    const receive = (message: Msg, reply: string): void =>
      this.#receive(message, reply, stats, method);
    return this.#mailbox.listen(subject, receive, {
      queue: this.#queue,
      failed: (err) => this.#service.log.error({ err, subject }, "this worker cannot take calls"),
    });
  }

  #receive(message: Msg, reply: string, stats: EndpointStats, method: string | undefined): void {
    const { incoming } = this.#mailbox;
    const done = stats.begin();
    const text = this.#mailbox.text(message);
    const payload = text === undefined ? unparsable : parsePayload(text, incoming.limits.maxBatch);
    if (text === undefined || payload === unparsable) incoming.refuseUnreadable(message, reply);
    else if (isEnvelope(payload) && incoming.control(payload, text, reply)) {
      // It was about another call.
    } else if (!this.#belongsTo(message.subject, payload, method)) {
      incoming.reply(reply, errorText("2.0", "null", wrongSubject));
    } else {
      incoming.answer(payload, text, message, reply, done);
      return;
    }
    done(undefined);
  }

  /** Whether a payload was sent to the subject of its method. */
  #belongsTo(subject: string, payload: unknown, expected: string | undefined): boolean {
    const { any, batch, leaving } = this.#subjects;
    if (subject === any || subject === batch || subject === leaving) return true;
    if (!isEnvelope(payload)) return !Array.isArray(payload);
    const { method } = payload;
    if (typeof method !== "string" || method === expected) return true;
    return this.#subjects.of(method) === subject;
  }

  /** A message from a caller that does not know which worker has its call. */
  #receiveControl(message: Msg, reply: string): void {
    const [payload, text] = this.#mailbox.envelope(message);
    if (payload !== undefined) this.#mailbox.incoming.control(payload, text, reply);
  }

  /** Resolves when nats-server sends no more calls here, and those on their way have arrived. */
  #leave(): Promise<void> {
    this.#stopReports();
    if (this.#leaving !== undefined) return this.#leaving;
    if (!this.#connection.isClosed()) {
      this.#others.push(this.#serve(this.#subjects.leaving, "leaving"));
    }
    this.#leaving = this.#drain(this.#calls);
    return this.#leaving;
  }

  async #close(): Promise<void> {
    await this.#leave();
    await this.#finishCalls();
    // Calls that no other worker takes may be on their way here.
    await this.#drain(this.#others);
    await this.#finishCalls();
    this.#mailbox.incoming.cutShort();
    // The replies to these are written some microtasks later.
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#mailbox.close();
    // The last replies have to leave before the program ends.
    await this.#state.orGone(this.#connection.flush());
  }

  #drain(subscriptions: readonly Subscription[]): Promise<void> {
    return this.#state.orGone(Promise.allSettled(subscriptions.map((each) => each.drain())));
  }

  /** Waits for running calls, unless the service that closes this worker has done so. */
  async #finishCalls(): Promise<void> {
    if (this.#service.answerer.draining) return;
    const { drainMs = defaultDrainMs } = this.#options;
    await callsDone(() => this.#mailbox.incoming.inFlight, drainMs);
  }
}
