import { WireError } from "../../../protocol/errors.ts";
import type { NatsConnection } from "../client-library.ts";
import { isForbidden, saysNobody } from "../engine-errors.ts";
import { type JetStreamManager, jetstreamManager } from "./client-library.ts";
import { subjectsOf } from "./stream-subjects.ts";

/** Codes with which the engine says that JetStream is off, for all or for the account. */
const offCodes: readonly unknown[] = [10_039, 10_076];

/** So long an answer may take: one that a node had to give which dies never comes. */
const attemptMs = 2_000;

/** The interface to the engine's streams; says so where JetStream is off. */
export async function managerOf(connection: NatsConnection): Promise<JetStreamManager> {
  try {
    return await jetstreamManager(connection, { timeout: attemptMs });
  } catch (cause) {
    if (!isOff(cause)) throw cause;
    throw refused(offSentence, cause);
  }
}

/** Surely nothing was stored. */
export function refused(why: string, cause: unknown): WireError {
  return new WireError("CONNECTION_FAILED", why, { cause });
}

const offSentence = "JetStream is off; nats-server has it with -js, or jetstream in its config";

function isOff(error: unknown): boolean {
  return saysNobody(error) || offCodes.includes((error as { code?: unknown }).code);
}

/**
 * Why the engine does not take what is sent to a subject, where that is certain. Undefined where another try
 * may help: a stream whose cluster elects a leader is not there either, for some seconds.
 */
export async function refusalOf(
  error: unknown,
  { subject, stream }: { readonly subject: string; readonly stream: string },
  connection: NatsConnection,
  timeoutMs: number,
): Promise<string | undefined> {
  if (isForbidden(error)) {
    return `this user may not publish to ${subject}`;
  }
  if (!saysNobody(error)) return undefined;
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout: timeoutMs });
    // The cluster as a whole knows its streams, whether or not they have a leader.
    for await (const _ of manager.streams.names(subject)) return undefined;
    return await nobodyTakes(manager, subject, stream);
  } catch (asking) {
    // In a cluster, those who have JetStream may be away for a while.
    const { info } = connection;
    const isAlone = info?.jetstream !== true && info?.cluster === undefined;
    if (saysNobody(asking) ? isAlone : isOff(asking)) return offSentence;
    return undefined;
  }
}

async function nobodyTakes(
  manager: JetStreamManager,
  subject: string,
  stream: string,
): Promise<string> {
  const taken = await subjectsOf(manager, stream);
  return taken === undefined
    ? `no stream takes ${subject}; serveDurable makes one when the first worker starts`
    : `no stream takes ${subject}; ${stream} takes ${taken.join(", ")}, as its workers say`;
}
