import { RemoteError } from "../protocol/errors.ts";
import type { Reply } from "../protocol/message.ts";
import type { OutgoingCall } from "./outgoing-call.ts";

/** The result in a reply; an error in it is thrown. */
export function resultOf(reply: Reply | undefined): unknown {
  if (reply?.error) throw RemoteError.from(reply.error);
  return reply?.result;
}

/** The same for who wants nothing but a result: where items came in its place, they would be lost in silence. */
export function wholeResult(reply: Reply | undefined, call: OutgoingCall): unknown {
  const result = resultOf(reply);
  if (result == null && call.streamed && !call.read) throw call.mistaken();
  return result;
}
