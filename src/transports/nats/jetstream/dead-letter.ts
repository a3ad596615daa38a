import type { ErrorObject } from "../../../protocol/message.ts";
import { pause } from "../../../protocol/waiting.ts";
import type { MsgHdrs } from "../client-library.ts";
import { isNoResponders, isTooLarge } from "../connection.ts";
import { headersIn, withoutNatsHeaders } from "../headers.ts";
import type { JsMsg } from "./client-library.ts";
import type { Delivery } from "./delivery.ts";
import { messageIdOf } from "./link.ts";

const pauseMs = 1_000;

/**
 * Stores a notification as a dead letter, and only then acknowledges it. Until that succeeds the worker keeps it: delivered again, it
 * would be handled again and lose the reason.
 */
export async function storeDeadLetter(
  message: JsMsg,
  error: ErrorObject,
  delivery: Delivery,
): Promise<void> {
  const { service, queue, acknowledgements, isStopping } = delivery;
  const { seq, subject } = message;
  const to = queue.deadSubjectOf(subject);
  const tries = message.info.deliveryCount;
  const fields = { subject, to, seq, tries, code: error.code, error: error.message };
  const headers = headersWithReason(message, error);
  await acknowledgements.whileWorking(message, async () => {
    for (let isFirst = true; ; isFirst = false) {
      const why = await publish(message, to, headers, delivery);
      if (why === undefined) break;
      if (isFirst) service.log.warn({ ...fields, why }, "could not store a dead letter; retrying");
      if (isStopping()) {
        acknowledgements.again(message, pauseMs);
        return;
      }
      await pause(pauseMs);
    }
    acknowledgements.done(message);
    service.log.warn(fields, "notification failed and was stored as a dead letter");
  });
}

function headersWithReason(message: JsMsg, error: ErrorObject): MsgHdrs {
  const headers = withoutNatsHeaders(headersIn(message));
  headers.set("error-code", `${error.code}`);
  headers.set("error-message", `${error.message}`.replace(/[\r\n]/g, " "));
  headers.set("tries", `${message.info.deliveryCount}`);
  return headers;
}

/** Returns why it was not stored, or undefined if it was. */
async function publish(
  { data, info, seq }: JsMsg,
  to: string,
  headers: MsgHdrs,
  { client }: Delivery,
): Promise<string | undefined> {
  // The same for each attempt. The time is part of it, because a recreated stream starts its numbers again.
  const msgID = messageIdOf([to, info.stream, seq, `${info.timestampNanos}`]);
  try {
    await client.publish(to, data, { headers, msgID }).catch((error: unknown) => {
      // A notification that is nearly too long has no room for the reason.
      if (isTooLarge(error)) return client.publish(to, data, { msgID });
      throw error;
    });
    return undefined;
  } catch (error) {
    return isNoResponders(error) ? `no stream takes ${to}` : (error as Error).message;
  }
}
