/// <reference lib="esnext.disposable" preserve="true" />

import { defaultDrainMs } from "../../../protocol/defaults.ts";
import { callsDone } from "../../../protocol/origin-calls.ts";
import type { Service } from "../../../protocol/service.ts";
import { pause } from "../../../protocol/waiting.ts";
import { type NatsConnection, nanos, type Subscription } from "../client-library.ts";
import {
  ConnectionState,
  electionPatienceMs,
  isTemporary,
  maxBytesOf,
  requestMs,
  requireOpen,
} from "../connection.ts";
import { requireInteger, requireMs } from "../options.ts";
import { Acknowledgements } from "./acknowledgements.ts";
import { AckPolicy, type ConsumerMessages, jetstream } from "./client-library.ts";
import { type Delivery, type DeliveryOptions, deliver, deliveryOptions } from "./delivery.ts";
import { type DurableOptions, DurableQueue, droppingLimits, type StorageOptions } from "./queue.ts";
import { managerOf } from "./store.ts";

export interface ServeDurableOptions extends DurableOptions, StorageOptions, DeliveryOptions {
  /** Most notifications without a key that are handled at the same time, by all workers together. @default 256 */
  readonly maxInFlight?: number;
  /** Prefix of the JetStream consumers. All workers of a stream need the same name. @default "workers" */
  readonly name?: string;
  /** How long running methods may take to finish when this worker closes. @default 10000 */
  readonly drainMs?: number;
}

const mostInFlight = 65_536;
/** How long JetStream keeps a request for notifications while there are none. */
const pullMs = 2_000;
/** How much longer the last notification of such a request may take to arrive. */
const arrivalMs = 100;
const retryMs = 250;
/** JetStream's error code for a second consumer with the same filter on a work queue. */
const filterTakenCode = 10_100;
/** Most bytes that nats-server may send before this worker has read them. */
const mostUnread = 32 * 1024 * 1024;
/** Status events of NATS's client for a consumer that does not exist. */
const missing: readonly string[] = ["consumer_not_found", "stream_not_found"];

/**
 * Handles durable notifications, each at least once, together with all workers of the same name.
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

/** One of the workers that share the notifications. */
export class DurableWorker implements AsyncDisposable {
  /** How many notifications are being handled here. */
  inFlight = 0;
  readonly #connection: NatsConnection;
  readonly #options: ServeDurableOptions;
  readonly #delivery: Delivery;
  readonly #sources: { readonly consumer: string; readonly messages: ConsumerMessages }[] = [];
  #stopReports = (): void => {};
  #stopping: Promise<void> | undefined;
  #resolveClosed = (): void => {};

  constructor(service: Service, connection: NatsConnection, options: ServeDurableOptions) {
    requireOpen(connection);
    requireInteger("maxInFlight", options.maxInFlight ?? 1, 1, mostInFlight);
    requireMs("drainMs", options.drainMs ?? 0, 0);
    this.#connection = connection;
    this.#options = options;
    const delivery = deliveryOptions(options);
    this.#delivery = {
      service,
      client: jetstream(connection, { timeout: requestMs }),
      queue: new DurableQueue(options),
      options: delivery,
      acknowledgements: new Acknowledgements(connection, delivery.ackWaitMs),
      isStopping: () => this.#stopping !== undefined,
      closed: new Promise((resolve) => {
        this.#resolveClosed = resolve;
      }),
    };
  }

  async start(): Promise<void> {
    const { service, queue } = this.#delivery;
    const { name = "workers", maxInFlight = 256, subject } = this.#options;
    await this.#afterElection(() => queue.create(this.#connection, this.#options));
    await this.#afterElection(() => this.#warnOfLimits());
    await this.#consume(`${name}-any`, queue.plainFilter, maxInFlight);
    for (let i = 0; i < queue.partitions; i++) {
      // One at a time, which keeps the order within a partition.
      await this.#consume(`${name}-${queue.partitions}-${i}`, queue.partitionFilter(i), 1);
    }
    this.#stopReports = ConnectionState.of(this.#connection).report(service.log, subject);
    service.beforeDrain?.(() => this.close());
    service.onClose(() => this.close());
  }

  /** Stops taking notifications, and waits for those being handled; the others go to other workers. */
  close(): Promise<void> {
    this.#stopping ??= this.#close();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Repeats a request while a cluster elects a leader. */
  async #afterElection<T>(request: () => Promise<T>): Promise<T> {
    const { log } = this.#delivery.service;
    const { subject } = this.#options;
    const end = performance.now() + electionPatienceMs;
    for (let isLogged = false; ; isLogged = true) {
      try {
        return await request();
      } catch (err) {
        const isElecting = this.#connection.info?.cluster !== undefined && isTemporary(err);
        if (!isElecting || performance.now() > end) throw err;
        if (!isLogged) log.warn({ subject, err }, "waiting to start: the stream has no leader yet");
      }
      await pause(retryMs);
    }
  }

  /** An existing stream may have limits that drop notifications. */
  async #warnOfLimits(): Promise<void> {
    const { service, queue } = this.#delivery;
    const { stream } = queue;
    const manager = await managerOf(this.#connection);
    const limits = droppingLimits((await manager.streams.info(stream)).config);
    if (limits.length === 0) return;
    const message = "the limits of this stream can drop notifications that were not handled";
    service.log.warn({ stream, limits }, message);
  }

  async #consume(name: string, filter: string, maxInFlight: number): Promise<void> {
    const { client, options, queue } = this.#delivery;
    const { stream } = queue;
    const create = async (): Promise<void> => {
      const manager = await managerOf(this.#connection);
      // Updates the settings of a consumer that exists.
      const adding = manager.consumers.add(stream, {
        durable_name: name,
        ack_policy: AckPolicy.Explicit,
        ack_wait: nanos(options.ackWaitMs),
        max_ack_pending: maxInFlight,
        filter_subject: filter,
      });
      await adding.catch((cause: unknown) => {
        if ((cause as { code?: unknown }).code !== filterTakenCode) throw cause;
        const message = `workers of another name already take ${filter} from ${stream}; all need the same name`;
        throw new Error(message, { cause });
      });
    };
    await this.#afterElection(create);
    const consumer = await this.#afterElection(() => client.consumers.get(stream, name));
    const messages = await consumer.consume({
      // Half of what nats-server by default buffers for a client before it disconnects it (`max_pending`).
      max_messages: Math.max(
        1,
        Math.min(maxInFlight, mostUnread / maxBytesOf(this.#connection)) | 0,
      ),
      // After two missed heartbeats the client asks again: the node that it asked may have died.
      idle_heartbeat: 1_000,
      // Also how long the client waits if nothing answers, such as during an election.
      expires: pullMs,
      callback: (message) => {
        this.inFlight++;
        void deliver(message, this.#delivery).finally(() => {
          this.inFlight--;
        });
      },
    });
    this.#sources.push({ consumer: name, messages });
    void this.#recreate(name, messages, create);
  }

  /** Recreates a consumer that was deleted, with its stream, or lost with the memory of nats-server; the client only keeps asking. */
  async #recreate(
    consumer: string,
    messages: ConsumerMessages,
    create: () => Promise<void>,
  ): Promise<void> {
    const { service, queue, isStopping } = this.#delivery;
    const fields = { stream: queue.stream, consumer };
    let isLogged = false;
    for await (const { type } of messages.status()) {
      if (isStopping() || !missing.includes(type)) continue;
      try {
        await queue.create(this.#connection, this.#options);
        await create();
        isLogged = false;
        service.log.warn(fields, "JetStream consumer was missing; recreated it");
      } catch (err) {
        const message = "JetStream consumer is missing and could not be recreated";
        if (!isLogged) service.log.error({ ...fields, err }, message);
        isLogged = true;
      }
    }
  }

  async #close(): Promise<void> {
    this.#stopReports();
    const { client, queue, acknowledgements } = this.#delivery;
    const connection = this.#connection;
    const state = ConnectionState.of(connection);
    const { drainMs = defaultDrainMs } = this.#options;
    // A leader on another node still sends what was requested, and this node drops it once the subscription is gone.
    const stayMs =
      connection.info?.cluster === undefined ? 0 : Math.min(drainMs, pullMs + arrivalMs);
    const leaving = this.#sources.map(async ({ consumer, messages }) => {
      await leave(messages, state, stayMs);
      // Makes nats-server 2.9 drop this worker's request; otherwise it may hold a retry back for it until `ackWaitMs` are over.
      await state.orGone(client.consumers.get(queue.stream, consumer));
    });
    await Promise.all(leaving);
    await callsDone(() => this.inFlight + acknowledgements.pending, drainMs - stayMs);
    this.#resolveClosed();
    acknowledgements.close();
    // The last acknowledgements have to leave before the program ends.
    if (!connection.isClosed()) await state.orGone(connection.flush());
  }
}

/**
 * Takes only the notifications that are already on their way from a consumer. The client's own `close` drops those; they, and later ones
 * with the same keys, would then wait until `ackWaitMs` are over.
 */
async function leave(
  messages: ConsumerMessages,
  state: ConnectionState,
  stayMs: number,
): Promise<void> {
  // Missing in the type.
  const hidden = messages as ConsumerMessages & { readonly sub?: Subscription; pull?: () => void };
  if (stayMs > 0) {
    hidden.pull = () => {};
    await state.orGone(pause(stayMs));
  }
  if (hidden.sub !== undefined) await state.orGone(hidden.sub.drain());
  await state.orGone(messages.close());
}
