/// <reference lib="esnext.disposable" preserve="true" />
import { quiet } from "../../connection/quiet.ts";
import type { Clock } from "../../protocol/clock.ts";
import { isEnvelope, parsePayload, unparsable } from "../../protocol/parse.ts";
import { errorText } from "../../protocol/serialize.ts";
import type { Service } from "../../protocol/service.ts";
import type { Msg, NatsConnection, Subscription } from "./client-library.ts";
import { ConnectionState } from "./connection-state.ts";
import { Mailbox } from "./mailbox.ts";
import { requireMs } from "./option-checks.ts";
import { RefusedReplies, ReplySubjects } from "./reply-subjects.ts";
import { announce, EndpointStats } from "./service-protocol.ts";
import { calledElsewhere, Subjects } from "./subjects.ts";

export interface ServeNatsOptions {
  /** What the subjects of the methods begin with: `math/add` is served at `subject.math.add`. */
  readonly subject: string;
  /** Workers with the same queue share the calls. @default "q" */
  readonly queue?: string;
  /** As `nats micro` lists it. @default the subject, with - for each dot */
  readonly name?: string;
  /** As `nats micro` lists it, in three numbers. @default "0.0.0" */
  readonly version?: string;
  /** As `nats micro` lists it. @default none */
  readonly description?: string;
  /**
   * What the inboxes of callers begin with, as in `inboxPrefix` of their connections: each call must ask for its reply below one of
   * these, or it is refused. `_INBOX` and the prefix of this worker's own connection are always accepted. Give only prefixes under
   * which there are inboxes and nothing else: a caller can have the worker publish to any subject there.
   * @default none more
   */
  readonly inboxPrefixes?: readonly string[];
  /**
   * How often callers of long calls and streams are asked whether they are still there; `Infinity` for never, and then a stream for one
   * that is gone, or never was there, can run for ever. @default 5000
   */
  readonly aliveMs?: number;
  /**
   * How long a stream runs for a caller in another account without a sign of it; `Infinity` for ever. NATS does not say whether such a
   * caller is still there. Links give a sign every `aliveMs`; give a caller that is not callwire's more time here if its streams take longer.
   * @default 60000
   */
  readonly callerSilenceMs?: number;
  /** How long running calls may take to finish when this worker closes. @default 10000 */
  readonly drainMs?: number;
  /** The clock of the probes of callers, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
}

/**
 * Serves a service to everybody on NATS, together with all workers that have the same subject and queue.
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
  // Once the engine has answered, it knows of all subscriptions.
  await connection.flush();
  return worker;
}

/** One worker of many. The connection stays open when it closes. */
export class NatsWorker implements AsyncDisposable {
  /** As `nats micro` lists it. */
  readonly id: string;
  readonly #service: Service;
  readonly #connection: NatsConnection;
  readonly #state: ConnectionState;
  readonly #options: ServeNatsOptions;
  readonly #queue: string;
  readonly #subjects: Subjects;
  readonly #mailbox: Mailbox;
  readonly #endpoints: EndpointStats[] = [];
  /** Where calls come in; given up first when the worker closes. */
  readonly #inlets: Subscription[] = [];
  /** What lasts until nothing runs any more. */
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
    // NATS would refuse them too, but when half of the worker takes calls already.
    if (!/^[^\s.*>]+$/.test(options.name ?? "rpc")) {
      const sentence = "a name has no spaces, dots, stars or arrows, and is not empty";
      throw new TypeError(`${sentence}, unlike "${options.name}"`);
    }
    // Without one, each worker would run each call.
    if (!/^\S+$/.test(this.#queue))
      throw new TypeError(`a queue has no spaces and is not empty, unlike "${this.#queue}"`);
    if (options.drainMs !== Number.POSITIVE_INFINITY) requireMs("drainMs", options.drainMs ?? 0, 0);
    // Nothing else that this process makes up can be guessed by it, such as the inbox of a link.
    this.id = crypto.randomUUID();
    const refused = new RefusedReplies(service.log, options.subject);
    this.#mailbox = new Mailbox(connection, this.#subjects.worker(this.id), {
      service,
      replies: ReplySubjects.ofWorker(connection, this.#subjects, options.inboxPrefixes),
      refuse: (message) => refused.add(message),
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

  /** Takes no more calls, so that the other workers get them, lets what runs finish, and then closes. */
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
    // Two names can share a subject, and one subscription is enough.
    const bySubject = new Map((names ?? []).map((name) => [this.#subjects.of(name), name]));
    bySubject.delete(any);
    for (const [subject, name] of bySubject) {
      this.#inlets.push(this.#serve(subject, endpointName(name), name));
    }
    if (names === undefined) this.#inlets.push(this.#serve(`${base}.>`, "all"));
    else this.#inlets.push(this.#serve(batch, "batch"));
    this.#inlets.push(this.#serve(any, "any"));
    const hear = (message: Msg, reply: string): void => this.#hear(message, reply);
    this.#others.push(this.#mailbox.listen(workers, hear));
    const { name = base.replaceAll(".", "-"), version = "0.0.0", description = "" } = this.#options;
    const identity = { name, id: this.id, version, description };
    this.#others.push(...announce(this.#mailbox, identity, () => this.#endpoints));
  }

  /** `method` is the name that belongs to a subject which only one name has. */
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

  #receive(message: Msg, reply: string, stats: EndpointStats, expected: string | undefined): void {
    const { callers } = this.#mailbox;
    const done = stats.begin();
    const text = this.#textOf(message, reply);
    const payload =
      text === undefined ? undefined : this.#payloadOf(text, message, reply, expected);
    if (text === undefined || payload === undefined) done(undefined);
    else callers.answer(payload, text, message, reply, done);
  }

  /** What a message says; undefined when it cannot be read, which it is answered with. */
  #textOf(message: Msg, reply: string): string | undefined {
    const { answerer, limits } = this.#service;
    const { callers } = this.#mailbox;
    const isTooLarge = message.data.length > limits.maxMessageBytes;
    const text = isTooLarge ? undefined : this.#mailbox.text(message);
    if (text === undefined) {
      callers.reply(reply, isTooLarge ? answerer.tooLarge() : answerer.unreadable());
    }
    return text;
  }

  /** What is to be answered; undefined when that is done, or there is nothing to answer. */
  #payloadOf(text: string, message: Msg, reply: string, expected: string | undefined): unknown {
    const { answerer, limits } = this.#service;
    const { callers } = this.#mailbox;
    const payload = parsePayload(text, limits.maxBatch);
    if (payload === unparsable) {
      callers.reply(reply, answerer.unreadable());
      return undefined;
    }
    if (!isEnvelope(payload)) {
      return Array.isArray(payload) && !this.#takesAll(message) ? this.#misled(reply) : payload;
    }
    if (callers.steer(payload, reply)) return undefined;
    const { method } = payload;
    const isHere = typeof method !== "string" || method === expected || this.#takesAll(message);
    return isHere || this.#subjects.of(method) === message.subject ? payload : this.#misled(reply);
  }

  #takesAll({ subject }: Msg): boolean {
    const { any, batch, leaving } = this.#subjects;
    return subject === any || subject === batch || subject === leaving;
  }

  #misled(reply: string): undefined {
    this.#mailbox.callers.reply(reply, errorText("2.0", "null", calledElsewhere));
    return undefined;
  }

  /** What somebody says who does not know which worker has its call. */
  #hear(message: Msg, reply: string): void {
    const text = this.#mailbox.text(message);
    const payload: unknown = text === undefined ? undefined : parsePayload(text, 0);
    if (isEnvelope(payload)) this.#mailbox.callers.steer(payload, reply);
  }

  /** Resolves when the engine sends no more calls here, and those that were on their way have come. */
  #leave(): Promise<void> {
    this.#stopReports();
    if (this.#leaving !== undefined) return this.#leaving;
    if (!this.#connection.isClosed()) {
      this.#others.push(this.#serve(this.#subjects.leaving, "leaving"));
    }
    this.#leaving = this.#drain(this.#inlets);
    return this.#leaving;
  }

  async #close(): Promise<void> {
    await this.#leave();
    await this.#quiet();
    // What nobody else takes may be on its way here, and is answered too.
    await this.#drain(this.#others);
    await this.#quiet();
    this.#mailbox.callers.cutShort();
    // The replies that say so are written some microtasks later.
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#mailbox.close();
    // The last replies are to leave before the program ends.
    await this.#state.orGone(this.#connection.flush());
  }

  #drain(subscriptions: readonly Subscription[]): Promise<void> {
    return this.#state.orGone(Promise.allSettled(subscriptions.map((each) => each.drain())));
  }

  /** Waits for what runs. Where the service itself closes, it has waited before. */
  async #quiet(): Promise<void> {
    if (this.#service.answerer.draining) return;
    await quiet(this.#mailbox.callers, this.#options.drainMs ?? 10_000);
  }
}

function endpointName(method: string): string {
  return method.replace(/[^A-Za-z0-9_-]/g, "-");
}
