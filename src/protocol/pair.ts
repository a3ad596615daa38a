import { type Envelope, isEnvelope } from "./envelope.ts";
import { WireError } from "./errors.ts";
import {
  type ErrorObject,
  failure,
  type Id,
  type Reply,
  type Request,
  success,
} from "./message.ts";

/** The reply in a response of either version; undefined if it is not a response. */
export function replyOf(message: unknown): Reply | undefined {
  return isEnvelope(message) ? replyIn(message) : undefined;
}

/** The same for a message that is an object. */
export function replyIn(message: Envelope): Reply | undefined {
  const { jsonrpc, types, result, error } = message as Envelope & Partial<Reply>;
  if (jsonrpc !== undefined && jsonrpc !== "2.0") return undefined;
  // A 1.0 response has both members, and null in the one that does not apply.
  if (error === undefined || error === null) {
    if (result === undefined) return undefined;
    return types === undefined ? success(result) : { ...success(result), types };
  }
  const written = isErrorObject(error) ? error : error1(error, jsonrpc);
  if (written === undefined) return undefined;
  return types === undefined ? failure(written) : { ...failure(written), types };
}

/** 1.0 does not define the form of an error. */
function error1(error: unknown, jsonrpc: unknown): ErrorObject | undefined {
  if (jsonrpc !== undefined) return undefined;
  return { code: -32000, message: typeof error === "string" ? error : "Error", data: error };
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
    // A single error instead of an array rejects the whole batch.
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
export const leftOut = "the reply to the batch lacks this call";

function unanswered(unnamed: readonly Reply[]): WireError {
  if (unnamed.length === 0) return badReply(leftOut);
  return badReply("the reply does not say which call failed", {
    cause: unnamed[0]?.error,
  });
}

export function badReply(sentence: string, options?: { cause: unknown }): WireError {
  return new WireError("BAD_REPLY", sentence, options);
}
