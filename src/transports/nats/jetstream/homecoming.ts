import type { Log } from "../../../protocol/log.ts";
import { createHeaders, type NatsConnection } from "../client-library.ts";
import type { JsMsg } from "./client-library.ts";
import type { DeliveryOptions } from "./delivery.ts";
import type { DurableQueue } from "./queue.ts";
import { store } from "./storing.ts";
import { working } from "./working.ts";

/** For how long a worker tries before it lets the engine ask another. */
const patienceMs = 30_000;
const attemptMs = 2_000;

export interface Homecoming {
  readonly connection: NatsConnection;
  readonly queue: DurableQueue;
  readonly terms: Required<DeliveryOptions>;
  readonly log: Log;
  /** Whether this worker leaves it to others. */
  isStopping(): boolean;
}

/**
 * Takes a notification from the spare stream to the one that it is for, under its own id: if it was stored
 * there before, which its sender could not know, the engine stores it once.
 */
export async function bringHome(message: JsMsg, homecoming: Homecoming): Promise<void> {
  const { connection, queue, terms, log, isStopping } = homecoming;
  const { headers = createHeaders(), seq } = message;
  const subject = queue.homeOf(message.subject);
  try {
    await working(message, terms.ackWaitMs, () =>
      store(connection, {
        subject,
        stream: queue.stream,
        isNamed: true,
        text: message.string(),
        options: { headers, msgID: headers.get("nats-msg-id") },
        end: performance.now() + patienceMs,
        attemptMs,
        mayGoOn: () => {
          if (isStopping()) throw new Error("the worker stops");
        },
      }),
    );
    message.ack();
  } catch (cause) {
    message.nak(terms.delayMs);
    if (isStopping()) return;
    const why = (cause as Error).message;
    log.warn({ subject, seq, why }, "a notification waits in the spare stream");
  }
}
