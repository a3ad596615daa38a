import type { ErrorObject } from "../../../protocol/message.ts";
import type { MsgHdrs } from "../client-library.ts";
import { saysNobody } from "../engine-errors.ts";
import { headersIn, withoutOrders } from "../headers.ts";
import { saysTooLarge } from "../too-large.ts";
import type { JsMsg } from "./client-library.ts";
import { messageIdOf } from "./message-id.ts";
import { type Workplace, working } from "./workplace.ts";

/** How long a worker waits where the dead letters cannot be kept. */
const againMs = 1_000;

/**
 * Keeps a notification among the dead letters, and only then forgets it. Until they take it the worker keeps it:
 * given back, it would be handled again and lose the reason.
 */
export async function bury(
  message: JsMsg,
  error: ErrorObject,
  workplace: Workplace,
): Promise<void> {
  const { service, queue, verdicts, isStopping } = workplace;
  const { seq, subject } = message;
  const to = queue.deadSubjectOf(subject);
  const tries = message.info.deliveryCount;
  const fields = { subject, to, seq, tries, code: error.code, error: error.message };
  const about = reasonOf(message, error);
  await working(message, workplace, async () => {
    for (let isFirst = true; ; isFirst = false) {
      const why = await refusal(message, to, about, workplace);
      if (why === undefined) break;
      const sentence = "a notification cannot go to the dead letters yet";
      if (isFirst) service.log.warn({ ...fields, why }, sentence);
      if (isStopping()) {
        verdicts.again(message, againMs);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, againMs));
    }
    verdicts.done(message);
    service.log.warn(fields, "a notification went to the dead letters");
  });
}

/** What it came with, and why nobody could handle it. */
function reasonOf(message: JsMsg, error: ErrorObject): MsgHdrs {
  const about = withoutOrders(headersIn(message));
  about.set("error-code", `${error.code}`);
  about.set("error-message", `${error.message}`.replace(/[\r\n]/g, " "));
  about.set("tries", `${message.info.deliveryCount}`);
  return about;
}

/** Why it is not among the dead letters now, if it is not. */
async function refusal(
  { data, info, seq }: JsMsg,
  to: string,
  about: MsgHdrs,
  { client }: Workplace,
): Promise<string | undefined> {
  // The same for each try to keep it there. Its time is part of it: a number alone could be used up before.
  const msgID = messageIdOf([to, info.stream, seq, `${info.timestampNanos}`]);
  try {
    await client.publish(to, data, { headers: about, msgID }).catch((error: unknown) => {
      // One that is nearly too long has no room for the reason.
      if (saysTooLarge(error)) return client.publish(to, data, { msgID });
      throw error;
    });
    return undefined;
  } catch (error) {
    return saysNobody(error) ? `no stream takes ${to}` : (error as Error).message;
  }
}
