import { hasReadableHeaders, unreadableHeaders, withoutOrders } from "../headers.ts";
import type { JsMsg } from "./client-library.ts";
import { bury } from "./dead-letter.ts";
import { store } from "./storing.ts";
import { type Workplace, working } from "./workplace.ts";

/** For how long a worker tries before it lets the engine ask another. */
const patienceMs = 30_000;
const attemptMs = 2_000;

/**
 * Takes a notification from the spare stream to the one that it is for, under its own id: if it was stored
 * there before, which its sender could not know, the engine stores it once.
 */
export async function bringHome(message: JsMsg, workplace: Workplace): Promise<void> {
  if (!hasReadableHeaders(message)) {
    await bury(message, unreadableHeaders, workplace);
    return;
  }
  const { service, connection, queue, terms, verdicts, isStopping } = workplace;
  const { headers, seq } = message;
  const subject = queue.homeOf(message.subject);
  try {
    await working(message, workplace, () =>
      store(connection, {
        subject,
        stream: queue.stream,
        isNamed: true,
        text: message.string(),
        options: { headers: withoutOrders(headers), msgID: headers?.get("Nats-Msg-Id") ?? "" },
        end: performance.now() + patienceMs,
        attemptMs,
        mayGoOn: () => {
          if (isStopping()) throw new Error("the worker stops");
        },
      }),
    );
    verdicts.done(message);
  } catch (cause) {
    verdicts.again(message, terms.delayMs);
    if (isStopping()) return;
    const why = (cause as Error).message;
    service.log.warn({ subject, seq, why }, "a notification waits in the spare stream");
  }
}
