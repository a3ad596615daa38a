import { type Envelope, isEnvelope } from "./envelope.ts";
import { WireError } from "./errors.ts";
import {
  type ErrorObject,
  failure,
  type Id,
  type Reply,
  type Request,
  success,
  type TypedPaths,
} from "./message.ts";

/** The reply in a response of either version; undefined if it is not a response. */
export function replyOf(message: unknown): Reply | undefined {
  if (!isEnvelope(message)) return undefined;
  const { jsonrpc, types } = message as Envelope & { types?: TypedPaths };
  if (jsonrpc !== undefined && jsonrpc !== "2.0") return undefined;
  const reply = outcomeOf(message);
  return types === undefined || reply === undefined ? reply : { ...reply, types };
}

function outcomeOf(message: Envelope): Reply | undefined {
  const { jsonrpc, result, error } = message as Envelope & { result?: unknown; error?: unknown };
  // A 1.0 response has both members, and null in the one that does not apply.
  if (error === undefined || error === null) {
    return result === undefined ? undefined : success(result);
  }
  if (isErrorObject(error)) return failure(error);
  if (jsonrpc !== undefined) return undefined;
  // 1.0 does not define the form of an error.
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

/** The reply to one call; throws a `WireError` if the payload does not answer it. */
export function pairOne(id: Id, payload: unknown): Reply {
  const reply = replyOf(payload);
  if (reply === undefined) throw badReply("the reply is not a JSON-RPC response");
  const { id: named } = payload as Envelope;
  if (named === id) return reply;
  // A server that could not read the id sends null, and only this call can be meant.
  if ((named === null || named === undefined) && reply.error !== undefined) return reply;
  throw badReply("the reply has the id of another call");
}

/**
 * The reply of each call of a batch, by id and never by position; undefined for notifications. Unexpected replies are
 * ignored, and of two with the same id the first counts.
 */
export function pairBatch(
  requests: readonly Request[],
  payload: unknown,
): (Reply | WireError | undefined)[] {
  if (!Array.isArray(payload) && replyOf(payload) === undefined) {
    const error = badReply("the reply is not a JSON-RPC response");
    return requests.map(({ id }) => (id === undefined ? undefined : error));
  }
  const unnamed: Reply[] = [];
  const named = new Map<unknown, Reply>();
  for (const entry of Array.isArray(payload) ? payload : [payload]) {
    const reply = replyOf(entry);
    if (reply === undefined) continue;
    const { id } = entry as Envelope;
    if (id !== null && id !== undefined) {
      if (!named.has(id)) named.set(id, reply);
    } else if (reply.error !== undefined) unnamed.push(reply);
  }
  const open = requests.filter(({ id }) => id !== undefined && !named.has(id)).length;
  const [first] = unnamed;
  if (first !== undefined && !Array.isArray(payload)) {
    // A single error in place of an array rejects the whole batch.
    return requests.map(({ id }) => (id === undefined ? undefined : (named.get(id) ?? first)));
  }
  // An invalid notification is also answered without an id, so with notifications the error cannot be assigned.
  const known = unnamed.length >= open && requests.every(({ id }) => id !== undefined);
  let next = 0;
  return requests.map(({ id }) => {
    if (id === undefined) return undefined;
    return named.get(id) ?? (known ? unnamed[next++] : unanswered(unnamed));
  });
}

/** The error of a call that has no reply in the batch's reply. */
export const leftOut = "the reply to the batch leaves this call out";

function unanswered(unnamed: readonly Reply[]): WireError {
  if (unnamed.length === 0) return badReply(leftOut);
  return badReply("the reply does not say which call failed", {
    cause: unnamed[0]?.error,
  });
}

export function badReply(sentence: string, options?: { cause: unknown }): WireError {
  return new WireError("BAD_REPLY", sentence, options);
}
