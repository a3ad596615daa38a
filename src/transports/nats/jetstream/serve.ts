/// <reference lib="esnext.disposable" preserve="true" />
import { quiet } from "../../../connection/quiet.ts";
import type { Service } from "../../../protocol/service.ts";
import type { NatsConnection } from "../client-library.ts";
import { ConnectionState } from "../connection-state.ts";
import { mustBeOpen } from "../open-connection.ts";
import {
  AckPolicy,
  type ConsumerMessages,
  type JetStreamClient,
  type JsMsg,
  jetstream,
  jetstreamManager,
} from "./client-library.ts";
import { Delivery, type DeliveryOptions, deliveryTerms } from "./delivery.ts";
import { bringHome } from "./homecoming.ts";
import { type Lane, Leaders } from "./leaders.ts";
import { requireInteger, requireMs } from "./option-checks.ts";
import { type DurableOptions, DurableQueue, type StorageOptions } from "./queue.ts";

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

/** Handles durable notifications, at least once each, together with all workers of the same name. */
export async function serveDurable(
  service: Service,
  connection: NatsConnection,
  options: ServeDurableOptions,
): Promise<DurableWorker> {
  const worker = new DurableWorker(service, connection, options);
  await worker.start();
  return worker;
}

/** One worker of many. */
export class DurableWorker implements AsyncDisposable {
  /** How many notifications are at work here. */
  inFlight = 0;
  readonly #service: Service;
  readonly #connection: NatsConnection;
  readonly #options: ServeDurableOptions;
  readonly #queue: DurableQueue;
  readonly #terms: Required<DeliveryOptions>;
  readonly #client: JetStreamClient;
  readonly #sources: ConsumerMessages[] = [];
  #leaders: Leaders | undefined;
  #stopReports = (): void => {};
  #stopping: Promise<void> | undefined;

  constructor(service: Service, connection: NatsConnection, options: ServeDurableOptions) {
    mustBeOpen(connection);
    this.#service = service;
    this.#connection = connection;
    this.#options = options;
    this.#queue = new DurableQueue(options);
    this.#terms = deliveryTerms(options);
    requireInteger("maxInFlight", options.maxInFlight ?? 1, 1, mostInFlight);
    requireMs("drainMs", options.drainMs ?? 0, 0);
    this.#client = jetstream(connection, { timeout: 2_000 });
  }

  async start(): Promise<void> {
    const hasSpare = await this.#queue.create(this.#connection, this.#options);
    const { name = "workers", maxInFlight = 256 } = this.#options;
    const { stream, spareStream, partitions } = this.#queue;
    const home = { stream, consumer: `${name}-any` };
    await this.#take(home, this.#queue.plainFilter, maxInFlight, this.#handle);
    for (let partition = 0; partition < partitions; partition++) {
      const lane = { stream, consumer: `${name}-${partitions}-${partition}` };
      // With one at work at a time, what comes later in a partition waits for what came first.
      await this.#take(lane, this.#queue.partitionFilter(partition), 1, this.#handle);
    }
    if (hasSpare) {
      const spare = { stream: spareStream, consumer: `${name}-any` };
      await this.#take(spare, this.#queue.spareFilter, maxInFlight, this.#handle);
      const back = { stream: spareStream, consumer: `${name}-back` };
      await this.#take(back, this.#queue.backFilter, maxInFlight, this.#bringHome);
      this.#leaders = new Leaders(this.#connection, this.#service.log, home, spare);
    }
    const state = ConnectionState.of(this.#connection);
    this.#stopReports = state.reportEnd(this.#service.log, this.#options.subject);
    this.#service.beforeDrain?.(() => this.close());
    this.#service.onClose(() => this.close());
  }

  /** Takes nothing more, and lets what is at work finish; the rest goes to other workers. */
  close(): Promise<void> {
    this.#stopping ??= this.#close();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #take(
    { stream, consumer: durable }: Lane,
    filter: string,
    maxInFlight: number,
    handle: (message: JsMsg) => Promise<void>,
  ): Promise<void> {
    const manager = await jetstreamManager(this.#connection);
    const { ackWaitMs } = this.#terms;
    // Saying the same again changes nothing, and new settings take effect.
    await manager.consumers.add(stream, {
      durable_name: durable,
      ack_policy: AckPolicy.Explicit,
      ack_wait: ackWaitMs * nanosecondsPerMs,
      max_ack_pending: maxInFlight,
      filter_subject: filter,
    });
    const consumer = await this.#client.consumers.get(stream, durable);
    const source = await consumer.consume({
      max_messages: maxInFlight,
      // After two beats without a sign, the engine is asked anew: the node that was asked may be gone.
      idle_heartbeat: 1_000,
      // Also how long the client waits where nobody answers, because the nodes are electing.
      expires: 2_000,
      callback: (message) => {
        this.inFlight++;
        void handle(message).finally(() => {
          this.inFlight--;
        });
      },
    });
    this.#sources.push(source);
  }

  readonly #handle = (message: JsMsg): Promise<void> =>
    new Delivery(message, this.#service, this.#client, this.#queue).handle(this.#terms);

  readonly #bringHome = (message: JsMsg): Promise<void> =>
    bringHome(message, {
      connection: this.#connection,
      queue: this.#queue,
      terms: this.#terms,
      log: this.#service.log,
      isStopping: () => this.#stopping !== undefined,
    });

  async #close(): Promise<void> {
    this.#stopReports();
    this.#leaders?.stop();
    const state = ConnectionState.of(this.#connection);
    await state.orGone(Promise.all(this.#sources.map((source) => source.close())));
    await quiet(this, this.#options.drainMs ?? 10_000);
    // What was acknowledged last is to leave before the program ends.
    if (!this.#connection.isClosed()) await state.orGone(this.#connection.flush());
  }
}
