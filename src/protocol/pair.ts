import { WireError } from "./errors.ts";
import {
  type ErrorObject,
  failure,
  type Id,
  type Reply,
  type Request,
  success,
} from "./message.ts";
import { type Envelope, isEnvelope } from "./parse.ts";

/** What a response says, in either version of the protocol; undefined when it is no response. */
export function replyOf(message: Envelope): Reply | undefined {
  const { jsonrpc, result, error } = message as Envelope & { result?: unknown; error?: unknown };
  if (jsonrpc !== undefined && jsonrpc !== "2.0") return undefined;
  // A 1.0 response has both members, and null stands for the one that does not apply.
  if (error === undefined || error === null) {
    return result === undefined ? undefined : success(result);
  }
  if (isErrorObject(error)) return failure(error);
  if (jsonrpc !== undefined) return undefined;
  // 1.0 does not say what an error looks like.
  const text = typeof error === "string" ? error : "Error";
  return failure({ code: -32000, message: text, data: error });
}

function isErrorObject(value: unknown): value is ErrorObject {
  return (
    isEnvelope(value) &&
    Number.isInteger((value as Partial<ErrorObject>).code) &&
    typeof (value as Partial<ErrorObject>).message === "string"
  );
}

/** The reply to one call; throws a `WireError` when the payload does not answer it. */
export function pairOne(id: Id, payload: unknown): Reply {
  const reply = isEnvelope(payload) ? replyOf(payload) : undefined;
  if (reply === undefined) throw badReply("the reply is not a JSON-RPC response");
  const { id: named } = payload as Envelope;
  if (named === id) return reply;
  // A server that could not read the id says null, and there is only this call that it can mean.
  if ((named === null || named === undefined) && reply.error !== undefined) return reply;
  throw badReply("the reply has the id of another call");
}

/**
 * What each call of a batch got, by id and never by position. Notifications get undefined. A reply
 * that nobody asked for is ignored, and of two with one id the first counts.
 */
export function pairBatch(
  requests: readonly Request[],
  payload: unknown,
): (Reply | WireError | undefined)[] {
  if (!Array.isArray(payload) && !(isEnvelope(payload) && replyOf(payload) !== undefined)) {
    const error = badReply("the reply is not a JSON-RPC response");
    return requests.map(({ id }) => (id === undefined ? undefined : error));
  }
  const unnamed: Reply[] = [];
  const named = new Map<unknown, Reply>();
  for (const entry of Array.isArray(payload) ? payload : [payload]) {
    const reply = isEnvelope(entry) ? replyOf(entry) : undefined;
    if (reply === undefined) continue;
    const { id } = entry as Envelope;
    if (id !== null && id !== undefined) {
      if (!named.has(id)) named.set(id, reply);
    } else if (reply.error !== undefined) unnamed.push(reply);
  }
  const open = requests.filter(({ id }) => id !== undefined && !named.has(id)).length;
  const [first] = unnamed;
  if (first !== undefined && !Array.isArray(payload)) {
    // One error in place of an array refuses the batch as a whole.
    return requests.map(({ id }) => (id === undefined ? undefined : (named.get(id) ?? first)));
  }
  // An invalid notification is answered without an id too, so it must not be among the suspects.
  const known = unnamed.length >= open && requests.every(({ id }) => id !== undefined);
  let next = 0;
  return requests.map(({ id }) => {
    if (id === undefined) return undefined;
    return named.get(id) ?? (known ? unnamed[next++] : unanswered(unnamed));
  });
}

/** What a call of a batch is told that has no reply among those that came. */
export const leftOut = "the reply to the batch leaves this call out";

function unanswered(unnamed: readonly Reply[]): WireError {
  if (unnamed.length === 0) return badReply(leftOut);
  return badReply("a call of the batch failed, and the reply does not say which", {
    cause: unnamed[0]?.error,
  });
}

export function badReply(sentence: string, options?: { cause: unknown }): WireError {
  return new WireError("BAD_REPLY", sentence, options);
}
