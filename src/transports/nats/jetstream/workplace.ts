import type { Service } from "../../../protocol/service.ts";
import type { NatsConnection } from "../client-library.ts";
import type { JetStreamClient, JsMsg } from "./client-library.ts";
import type { DeliveryOptions } from "./delivery.ts";
import type { DurableQueue } from "./queue.ts";
import type { Verdicts } from "./verdicts.ts";

/** What a worker handles its notifications with. */
export interface Workplace {
  readonly service: Service;
  readonly connection: NatsConnection;
  readonly client: JetStreamClient;
  readonly queue: DurableQueue;
  readonly terms: Required<DeliveryOptions>;
  readonly verdicts: Verdicts;
  /** Whether the worker leaves what takes long to others. */
  isStopping(): boolean;
  /** Resolves when the worker waits for nothing any more. */
  readonly closed: Promise<void>;
}

/**
 * How often a worker tells the engine that it still has a message. Nobody hears that during an election, of 9 seconds or more,
 * and it must be heard again before `ackWaitMs` are over; else the message runs a second time, beside itself.
 */
function signEveryMs(ackWaitMs: number): number {
  return Math.min(2_000, ackWaitMs / 3);
}

/** Runs something that may take long, and tells the engine meanwhile that this worker still has the message. */
export async function working<T>(
  message: JsMsg,
  { terms }: Workplace,
  run: () => Promise<T>,
): Promise<T> {
  const signs = setInterval(() => message.working(), signEveryMs(terms.ackWaitMs));
  try {
    return await run();
  } finally {
    clearInterval(signs);
  }
}
