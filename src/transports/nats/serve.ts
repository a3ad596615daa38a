/// <reference lib="esnext.disposable" preserve="true" />
import { quiet } from "../../connection/quiet.ts";
import type { Clock } from "../../protocol/clock.ts";
import { invalidRequest } from "../../protocol/errors.ts";
import { isEnvelope, parsePayload, unparsable } from "../../protocol/parse.ts";
import { errorText } from "../../protocol/serialize.ts";
import type { Service } from "../../protocol/service.ts";
import { createInbox, type Msg, type NatsConnection, type Subscription } from "./client-library.ts";
import { ConnectionState } from "./connection-state.ts";
import { Mailbox } from "./mailbox.ts";
import { announce, EndpointStats } from "./service-protocol.ts";
import { Subjects } from "./subjects.ts";

export interface ServeNatsOptions {
  /** What the subjects of the methods begin with: `math/add` is served at `subject.math.add`. */
  readonly subject: string;
  /** Workers with the same queue share the calls. @default "q" */
  readonly queue?: string;
  /** As `nats micro` lists it. @default the subject, with - for each dot */
  readonly name?: string;
  /** As `nats micro` lists it, in three numbers. @default "0.0.0" */
  readonly version?: string;
  readonly description?: string;
  /** How often callers of long calls are asked whether they are still there; `Infinity` for never. @default 5000 */
  readonly aliveMs?: number;
  /** How long running calls may take to finish when this worker closes. @default 10000 */
  readonly drainMs?: number;
  readonly clock?: Clock;
}

/** Serves a service to everybody on NATS, together with all workers that have the same subject and queue. */
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
  #leaving: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(service: Service, connection: NatsConnection, options: ServeNatsOptions) {
    this.#service = service;
    this.#connection = connection;
    this.#state = ConnectionState.of(connection);
    this.#options = options;
    this.#queue = options.queue ?? "q";
    this.#subjects = new Subjects(options.subject);
    this.id = createInbox("w").slice(2);
    this.#mailbox = new Mailbox(connection, this.#subjects.worker(this.id), {
      service,
      everybody: undefined,
      aliveMs: options.aliveMs,
      clock: options.clock,
    });
    this.#subscribe();
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
    this.#others.push(this.#serve(any, "any"));
    const callback = (error: Error | null, message: Msg): void => {
      if (error === null) this.#hear(message);
    };
    this.#others.push(this.#connection.subscribe(workers, { callback }));
    const { name = base.replaceAll(".", "-"), version = "0.0.0", description = "" } = this.#options;
    const identity = { name, id: this.id, version, description };
    this.#others.push(...announce(this.#connection, identity, () => this.#endpoints));
  }

  /** `method` is the name that belongs to a subject which only one name has. */
  #serve(subject: string, name: string, method?: string): Subscription {
    const stats = new EndpointStats(name, subject, this.#queue);
    this.#endpoints.push(stats);
    return this.#connection.subscribe(subject, {
      queue: this.#queue,
      callback: (error, message) => {
        if (error === null) this.#receive(message, stats, method);
      },
    });
  }

  #receive(message: Msg, stats: EndpointStats, expected: string | undefined): void {
    const { answerer, limits } = this.#service;
    const { callers } = this.#mailbox;
    const done = stats.begin();
    const { data } = message;
    const text = data.length > limits.maxMessageBytes ? undefined : this.#mailbox.text(message);
    if (text === undefined) {
      const tooLarge = data.length > limits.maxMessageBytes;
      callers.reply(message.reply ?? "", tooLarge ? answerer.tooLarge() : answerer.unreadable());
      return done();
    }
    const payload = parsePayload(text, limits.maxBatch);
    if (payload === unparsable) {
      callers.reply(message.reply ?? "", answerer.unreadable());
      return done();
    }
    if (isEnvelope(payload) && callers.steer(payload, message.reply ?? "")) return done();
    const method = isEnvelope(payload) ? payload.method : payload;
    if (method !== expected && !this.#mayComeFrom(message.subject, payload)) {
      // Who may send to one subject must not reach the methods of another.
      const error = invalidRequest("this method is called at another subject");
      callers.reply(message.reply ?? "", errorText("2.0", "null", error));
      return done(error);
    }
    callers.answer(payload, text, message, done);
  }

  #mayComeFrom(subject: string, payload: unknown): boolean {
    const { any, batch } = this.#subjects;
    if (subject === any || subject === batch) return true;
    if (!isEnvelope(payload)) return !Array.isArray(payload);
    return typeof payload.method !== "string" || this.#subjects.of(payload.method) === subject;
  }

  /** What somebody says who does not know which worker has its call. */
  #hear(message: Msg): void {
    const text = this.#mailbox.text(message);
    const payload: unknown = text === undefined ? undefined : parsePayload(text, 0);
    if (isEnvelope(payload)) this.#mailbox.callers.steer(payload, message.reply ?? "");
  }

  /** Resolves when the engine sends no more calls here, and those that were on their way have come. */
  #leave(): Promise<void> {
    this.#leaving ??= this.#state.orGone(
      Promise.allSettled(this.#inlets.map((inlet) => inlet.drain())),
    );
    return this.#leaving;
  }

  async #close(): Promise<void> {
    await this.#leave();
    // Where the service itself closes, it has waited before.
    if (!this.#service.answerer.draining) {
      await quiet(this.#mailbox.callers, this.#options.drainMs ?? 10_000);
    }
    if (!this.#connection.isClosed()) {
      for (const subscription of this.#others) subscription.unsubscribe();
    }
    this.#mailbox.close();
    // The last replies are to leave before the program ends.
    await this.#state.orGone(this.#connection.flush());
  }
}

function endpointName(method: string): string {
  return method.replace(/[^A-Za-z0-9_-]/g, "-");
}
