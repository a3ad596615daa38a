import type { Params } from "../../protocol/message.ts";
import { type Envelope, isEnvelope } from "../../protocol/parse.ts";
import { createHeaders, type Msg, type MsgHdrs } from "./client-library.ts";
import { headersIn } from "./headers.ts";

/**
 * NATS can lose a message, such as while a worker finds another node, and tells nobody. So items are
 * numbered, and the reply says how many there were: a stream that lacks some must not look whole.
 */
const countHeader = "callwire-items";
/** More than the header takes in a message, whatever the number. */
export const countBytes = 64;

/** The params of an item, with its number. */
export function numbered(params: Params | undefined, seq: number): Params {
  return { ...params, seq };
}

/** The number of an item; undefined where the one who sent it does not count. */
export function numberOf({ params }: Envelope): number | undefined {
  const { seq } = (isEnvelope(params) ? params : {}) as { seq?: unknown };
  return typeof seq === "number" ? seq : undefined;
}

/** What tells of all items, with the reply. */
export function countHeaders(count: number): MsgHdrs | undefined {
  if (count === 0) return undefined;
  const headers = createHeaders();
  headers.set(countHeader, `${count}`);
  return headers;
}

/** How many items there were before this reply, if it says so. */
export function countOf(reply: Msg): number | undefined {
  const headers = headersIn(reply);
  return headers?.has(countHeader) ? Number(headers.get(countHeader)) : undefined;
}
