/// <reference lib="esnext.disposable" preserve="true" />
import { quiet } from "../../../connection/quiet.ts";
import type { Service } from "../../../protocol/service.ts";
import type { NatsConnection, Subscription } from "../client-library.ts";
import { ConnectionState } from "../connection-state.ts";
import { electionPatienceMs, isAway } from "../engine-errors.ts";
import { mustBeOpen } from "../open-connection.ts";
import { requireInteger, requireMs } from "../option-checks.ts";
import { AckPolicy, type ConsumerMessages, type JsMsg, jetstream } from "./client-library.ts";
import { type DeliveryOptions, deliver, deliveryTerms } from "./delivery.ts";
import { forgetfulLimits } from "./forgetful.ts";
import { bringHome } from "./homecoming.ts";
import { type Lane, Leaders } from "./leaders.ts";
import { type DurableOptions, DurableQueue, type StorageOptions } from "./queue.ts";
import { managerOf } from "./refusal.ts";
import { Verdicts } from "./verdicts.ts";
import type { Workplace } from "./workplace.ts";

export interface ServeDurableOptions extends DurableOptions, StorageOptions, DeliveryOptions {
  /** Most notifications without a key that are at work at the same time, in all workers together. @default 256 */
  readonly maxInFlight?: number;
  /** Workers of one name share the work. @default "workers" */
  readonly name?: string;
  /** How long what is at work may take to finish when this worker closes. @default 10000 */
  readonly drainMs?: number;
}

const nanosecondsPerMs = 1e6;
const mostInFlight = 65_536;
/** So long the engine keeps what this worker asked for, if there is nothing to give. */
const askForMs = 2_000;
/** What that may take longer on its way. */
const spareMs = 100;
/** The pause before what nobody answered is asked again. */
const askAgainMs = 250;
/** The code for a consumer where another takes the same from a stream that hands out everything once. */
const takenCode = 10_100;
/** How the client of NATS says that a consumer is not there. */
const losses: readonly string[] = ["consumer_not_found", "stream_not_found"];

/**
 * Handles durable notifications, at least once each, together with all workers of the same name.
 * @example
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { createServer } from "callwire";
 * import { serveDurable } from "callwire/nats/jetstream";
 *
 * const shop = createServer({ order: { placed: ({ order }: { order: string }) => void order } });
 * const connection = await connect({ maxReconnectAttempts: -1 });
 * await serveDurable(shop, connection, { subject: "jobs", maxTries: 5 });
 * ```
 */
export async function serveDurable(
  service: Service,
  connection: NatsConnection,
  options: ServeDurableOptions,
): Promise<DurableWorker> {
  const worker = new DurableWorker(service, connection, options);
  try {
    await worker.start();
  } catch (error) {
    await worker.close();
    throw error;
  }
  return worker;
}

/** One worker of many. */
export class DurableWorker implements AsyncDisposable {
  /** How many notifications are at work here. */
  inFlight = 0;
  readonly #options: ServeDurableOptions;
  readonly #workplace: Workplace;
  readonly #sources: (Lane & { readonly source: ConsumerMessages })[] = [];
  #leaders: Leaders | undefined;
  #stopReports = (): void => {};
  #stopping: Promise<void> | undefined;
  #tellClosed = (): void => {};

  constructor(service: Service, connection: NatsConnection, options: ServeDurableOptions) {
    mustBeOpen(connection);
    requireInteger("maxInFlight", options.maxInFlight ?? 1, 1, mostInFlight);
    requireMs("drainMs", options.drainMs ?? 0, 0);
    this.#options = options;
    const terms = deliveryTerms(options);
    this.#workplace = {
      service,
      connection,
      client: jetstream(connection, { timeout: 2_000 }),
      queue: new DurableQueue(options),
      terms,
      verdicts: new Verdicts(connection, terms.ackWaitMs),
      isStopping: () => this.#stopping !== undefined,
      closed: new Promise((resolve) => {
        this.#tellClosed = resolve;
      }),
    };
  }

  async start(): Promise<void> {
    const { service, connection, queue } = this.#workplace;
    const hasSpare = await this.#pastElection(() => queue.create(connection, this.#options));
    const { name = "workers", maxInFlight = 256 } = this.#options;
    const { stream, spareStream, partitions } = queue;
    for (const each of hasSpare ? [stream, spareStream] : [stream]) {
      await this.#pastElection(() => this.#tellLimits(each));
    }
    const home = { stream, consumer: `${name}-any` };
    await this.#take(home, queue.plainFilter, maxInFlight, deliver);
    for (let partition = 0; partition < partitions; partition++) {
      const lane = { stream, consumer: `${name}-${partitions}-${partition}` };
      // With one at work at a time, what comes later in a partition waits for what came first.
      await this.#take(lane, queue.partitionFilter(partition), 1, deliver);
    }
    if (hasSpare) {
      const spare = { stream: spareStream, consumer: `${name}-any` };
      await this.#take(spare, queue.spareFilter, maxInFlight, deliver);
      const back = { stream: spareStream, consumer: `${name}-back` };
      await this.#take(back, queue.backFilter, maxInFlight, bringHome);
      this.#leaders = new Leaders(connection, service.log, home, spare);
    }
    const state = ConnectionState.of(connection);
    this.#stopReports = state.report(service.log, this.#options.subject);
    service.beforeDrain?.(() => this.close());
    service.onClose(() => this.close());
  }

  /** Takes nothing more, and lets what is at work finish; the rest goes to other workers. */
  close(): Promise<void> {
    this.#stopping ??= this.#close();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** What the engine says, once the nodes of its cluster have elected who does. */
  async #pastElection<T>(ask: () => Promise<T>): Promise<T> {
    const { service, connection } = this.#workplace;
    const { subject } = this.#options;
    const end = performance.now() + electionPatienceMs;
    for (let isTold = false; ; isTold = true) {
      try {
        return await ask();
      } catch (error) {
        const isElecting = connection.info?.cluster !== undefined && isAway(error);
        if (!isElecting || performance.now() > end) throw error;
        const sentence = "this worker waits to start: nobody leads its stream in the cluster";
        if (!isTold) service.log.warn({ subject, err: error }, sentence);
      }
      await new Promise((resolve) => setTimeout(resolve, askAgainMs));
    }
  }

  /** A stream that somebody else made may have limits. */
  async #tellLimits(stream: string): Promise<void> {
    const { service, connection } = this.#workplace;
    const manager = await managerOf(connection);
    const limits = forgetfulLimits((await manager.streams.info(stream)).config);
    if (limits.length === 0) return;
    const sentence =
      "this stream can lose notifications that nobody has handled yet, by its limits";
    service.log.warn({ stream, limits }, sentence);
  }

  async #take(
    { stream, consumer: durable }: Lane,
    filter: string,
    maxInFlight: number,
    handle: (message: JsMsg, workplace: Workplace) => Promise<void>,
  ): Promise<void> {
    const { connection, client, terms } = this.#workplace;
    const make = async (): Promise<void> => {
      const manager = await managerOf(connection);
      // Saying the same again changes nothing, and new settings take effect.
      const adding = manager.consumers.add(stream, {
        durable_name: durable,
        ack_policy: AckPolicy.Explicit,
        ack_wait: terms.ackWaitMs * nanosecondsPerMs,
        max_ack_pending: maxInFlight,
        filter_subject: filter,
      });
      await adding.catch((cause: unknown) => {
        if ((cause as { code?: unknown }).code !== takenCode) throw cause;
        const sentence = `workers of another name take ${filter} from ${stream}; all need the same name`;
        throw new Error(sentence, { cause });
      });
    };
    await this.#pastElection(make);
    const consumer = await this.#pastElection(() => client.consumers.get(stream, durable));
    const source = await consumer.consume({
      max_messages: maxInFlight,
      // After two beats without a sign, the engine is asked anew: the node that was asked may be gone.
      idle_heartbeat: 1_000,
      // Also how long the client waits where nobody answers, because the nodes are electing.
      expires: askForMs,
      callback: (message) => {
        this.inFlight++;
        void handle(message, this.#workplace).finally(() => {
          this.inFlight--;
        });
      },
    });
    const lane = { stream, consumer: durable };
    this.#sources.push({ ...lane, source });
    void this.#tend(source, lane, make);
  }

  /**
   * Makes a consumer anew that is gone, with its stream: an engine that keeps it in memory was started anew, or
   * somebody has deleted it. The client asks for it again and again, and tells nobody else.
   */
  async #tend(source: ConsumerMessages, lane: Lane, make: () => Promise<void>): Promise<void> {
    const { service, connection, queue, isStopping } = this.#workplace;
    let isTold = false;
    for await (const { type } of source.status()) {
      if (isStopping() || !losses.includes(type)) continue;
      try {
        await queue.create(connection, this.#options);
        await make();
        isTold = false;
        service.log.warn(lane, "what hands out notifications was gone, and was made anew");
      } catch (err) {
        const sentence = "what hands out notifications is gone, and cannot be made anew";
        if (!isTold) service.log.error({ ...lane, err }, sentence);
        isTold = true;
      }
    }
  }

  async #close(): Promise<void> {
    this.#stopReports();
    this.#leaders?.stop();
    const { connection, client, verdicts } = this.#workplace;
    const state = ConnectionState.of(connection);
    const { drainMs = 10_000 } = this.#options;
    // A leader on another node goes on sending what was asked for, and the own node drops what nobody hears there any more.
    const stayMs =
      connection.info?.cluster === undefined ? 0 : Math.min(drainMs, askForMs + spareMs);
    const leaving = this.#sources.map(async ({ source, stream, consumer }) => {
      await leave(source, state, stayMs);
      // Asked after, the engine forgets what this worker still wanted to take. Else nats-server 2.9 may lay aside for it
      // what is to be tried again, and would not look at that before `ackWaitMs` are over.
      await state.orGone(client.consumers.get(stream, consumer));
    });
    await Promise.all(leaving);
    const atWork = (): number => this.inFlight + verdicts.size;
    const work = {
      get inFlight() {
        return atWork();
      },
    };
    await quiet(work, drainMs - stayMs);
    this.#tellClosed();
    verdicts.close();
    // What was said last is to leave before the program ends.
    if (!connection.isClosed()) await state.orGone(connection.flush());
  }
}

/**
 * Takes nothing more from a consumer but what the engine has sent before it hears of that. The client's own `close` throws
 * that away, and nobody would be given it, nor what waits behind it with its key, before `ackWaitMs` are over.
 */
async function leave(
  source: ConsumerMessages,
  state: ConnectionState,
  stayMs: number,
): Promise<void> {
  // The type does not tell of these.
  const hidden = source as ConsumerMessages & { readonly sub?: Subscription; pull?: () => void };
  if (stayMs > 0) {
    hidden.pull = () => {};
    await state.orGone(new Promise((resolve) => setTimeout(resolve, stayMs)));
  }
  if (hidden.sub !== undefined) await state.orGone(hidden.sub.drain());
  await state.orGone(source.close());
}
