import { WireError } from "../../../protocol/errors.ts";
import { pause } from "../../../protocol/waiting.ts";
import type { MsgHdrs, NatsConnection } from "../client-library.ts";
import {
  isForbidden,
  isNoResponders,
  isTooLarge,
  requestMs,
  tooLarge,
  unavailableCode,
} from "../connection.ts";
import {
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  type PubAck,
} from "./client-library.ts";

export interface Storable {
  readonly subject: string;
  readonly stream: string;
  readonly text: string;
  readonly options: { readonly headers: MsgHdrs; readonly msgID: string };
  /** When to give up, in the time of `performance.now`. */
  readonly end: number;
  /** After this time without a confirmation it is sent again. */
  readonly attemptMs: number;
  requireOpen(): void;
}

export interface Stored extends Pick<PubAck, "stream" | "seq" | "duplicate"> {
  readonly attempts: number;
}

const longestWaitMs = 250;

/** Resolves once JetStream has confirmed the notification; rejects if that is impossible, or takes too long. */
export async function store(connection: NatsConnection, storable: Storable): Promise<Stored> {
  const { subject, text, options, attemptMs, end } = storable;
  let failure: unknown;
  let mayBeStored = false;
  let waitMs = 25;
  for (let attempts = 1; performance.now() < end; attempts++) {
    storable.requireOpen();
    const timeout = Math.max(1, Math.min(attemptMs, end - performance.now()));
    try {
      const ack = await jetstream(connection).publish(subject, text, { ...options, timeout });
      return { stream: ack.stream, seq: ack.seq, duplicate: ack.duplicate, attempts };
    } catch (error) {
      if (isTooLarge(error)) throw tooLarge(connection, error);
      failure = error;
      mayBeStored ||= !isSurelyNotStored(error);
      if (connection.isClosed() || isFinal(error)) break;
    }
    if (attempts === 1) {
      const reason = await refusalOf(failure, storable, connection, timeout);
      if (reason !== undefined) throw notStored(reason, failure);
    }
    waitMs = Math.min(longestWaitMs, waitMs * 2);
    await pause(waitMs);
  }
  throw failureOf(failure, mayBeStored, subject);
}

function failureOf(cause: unknown, mayBeStored: boolean, subject: string): WireError {
  if (mayBeStored) {
    const message = "NATS did not confirm that it stored the notification";
    return new WireError("CONNECTION_LOST", message, { cause });
  }
  if (cause === undefined) {
    const reason = "timed out waiting for earlier notifications with the same key";
    return notStored(`the notification was not sent: ${reason}`, cause);
  }
  const reason = isNoResponders(cause)
    ? `no stream answers at ${subject}`
    : (cause as Error).message;
  return notStored(`NATS did not store the notification: ${reason}`, cause);
}

/** For a notification that is certainly not stored. */
function notStored(message: string, cause: unknown): WireError {
  return new WireError("CONNECTION_FAILED", message, { cause });
}

/** JetStream answered with an error. */
function isApiError(error: unknown): boolean {
  return (error as Error).name === "JetStreamApiError";
}

/** Another attempt would fail in the same way. */
function isFinal(error: unknown): boolean {
  return isApiError(error) && (error as { code?: unknown }).code !== unavailableCode;
}

function isSurelyNotStored(error: unknown): boolean {
  const isUnsent = (error as Error).name === "ClosedConnectionError" || isForbidden(error);
  return isUnsent || isApiError(error) || isNoResponders(error);
}

/**
 * Why a subject cannot be stored, if that is certain. Undefined if another attempt may help: while a cluster elects a leader, the stream
 * does not answer either.
 */
async function refusalOf(
  error: unknown,
  { subject, stream }: Storable,
  connection: NatsConnection,
  timeout: number,
): Promise<string | undefined> {
  if (isForbidden(error)) return `this user may not publish to ${subject}`;
  if (!isNoResponders(error)) return undefined;
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout });
    // A cluster knows its streams even if they have no leader.
    for await (const _ of manager.streams.names(subject)) return undefined;
    const subjects = await subjectsOf(manager, stream);
    const reason = `no stream takes ${subject}`;
    return subjects === undefined
      ? `${reason}; serveDurable creates one when the first worker starts`
      : `${reason}; ${stream} has the subjects ${subjects.join(", ")}, as its workers set them`;
  } catch (asking) {
    // In a cluster, the nodes with JetStream may be away for a while.
    const { info } = connection;
    const isAlone = info?.jetstream !== true && info?.cluster === undefined;
    if (isNoResponders(asking) ? isAlone : isOff(asking)) return offMessage;
    return undefined;
  }
}

/** Error codes for JetStream being off, for the server or for the account. */
const offCodes: readonly unknown[] = [10_039, 10_076];
const offMessage = "JetStream is off; start nats-server with -js, or add jetstream to its config";

function isOff(error: unknown): boolean {
  return isNoResponders(error) || offCodes.includes((error as { code?: unknown }).code);
}

/** The management API of JetStream; throws a readable error if JetStream is off. */
export async function managerOf(connection: NatsConnection): Promise<JetStreamManager> {
  try {
    return await jetstreamManager(connection, { timeout: requestMs });
  } catch (cause) {
    throw isOff(cause) ? notStored(offMessage, cause) : cause;
  }
}

/** The subjects of a stream, or undefined if it does not exist. */
export async function subjectsOf(
  manager: JetStreamManager,
  stream: string,
): Promise<readonly string[] | undefined> {
  try {
    return (await manager.streams.info(stream)).config.subjects ?? [];
  } catch (error) {
    if ((error as Error).name === "StreamNotFoundError") return undefined;
    throw error;
  }
}
