import { WireError } from "../../../protocol/errors.ts";
import { ClosedConnectionError, type MsgHdrs, type NatsConnection } from "../client-library.ts";
import { saysTooLarge, tooLarge } from "../too-large.ts";
import { jetstream } from "./client-library.ts";
import { isForbidden, refusalOf, refused, saysNobody } from "./refusal.ts";

/** A notification on its way into a stream. */
export interface Storing {
  readonly subject: string;
  readonly stream: string;
  readonly text: string;
  readonly options: { readonly headers: MsgHdrs; readonly msgID: string };
  /** Until when it has to be stored, in the time of `performance.now`. */
  readonly end: number;
  /** After this time without an answer it is sent again. */
  readonly attemptMs: number;
  /** Throws where nothing is to be sent any more. */
  mayGoOn(): void;
}

const longestWaitMs = 250;

/** Resolves once the engine has stored it; rejects as soon as it surely will not, or when its time is up. */
export async function store(connection: NatsConnection, storing: Storing): Promise<void> {
  const { subject, text, options, end, attemptMs } = storing;
  const client = jetstream(connection);
  let failure: unknown;
  let isUncertain = false;
  let waitMs = 25;
  for (let leftMs = end - performance.now(); leftMs > 0; leftMs = end - performance.now()) {
    storing.mayGoOn();
    const timeout = Math.max(1, Math.min(attemptMs, leftMs));
    try {
      await client.publish(subject, text, { ...options, timeout });
      return;
    } catch (error) {
      if (saysTooLarge(error)) throw tooLarge(connection, error);
      const isFirst = failure === undefined;
      failure = error;
      isUncertain ||= !surelyNotStored(error);
      if (connection.isClosed() || isRefusal(error)) break;
      // A cluster that has lost the leader of the stream has another in some seconds; whether this is one is
      // asked once.
      const why = isFirst ? await refusalOf(error, storing, connection, timeout) : undefined;
      if (why !== undefined) throw refused(why, error);
      waitMs = Math.min(longestWaitMs, waitMs * 2);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
  throw notStored(failure, isUncertain, storing);
}

/** The engine answered, and said no. */
function isRefusal(error: unknown): boolean {
  return (error as Error).name === "JetStreamApiError";
}

function surelyNotStored(error: unknown): boolean {
  const isUnsent = error instanceof ClosedConnectionError || isForbidden(error);
  return isUnsent || isRefusal(error) || saysNobody(error);
}

function notStored(cause: unknown, isUncertain: boolean, { subject }: Storing): WireError {
  if (isUncertain) {
    const sentence = "NATS did not confirm that it has stored the notification";
    return new WireError("CONNECTION_LOST", sentence, { cause });
  }
  if (cause === undefined) {
    const sentence = "its time was up before those of its key ahead of it were stored";
    return refused(`the notification was not sent: ${sentence}`, cause);
  }
  const why = saysNobody(cause) ? `no stream answers at ${subject}` : (cause as Error).message;
  return refused(`NATS did not store the notification: ${why}`, cause);
}
