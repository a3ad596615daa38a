import { RemoteError, WireError } from "../protocol/errors.ts";
import type { Reply } from "../protocol/message.ts";
import type { OutgoingCall } from "./outgoing-call.ts";

/** The result of a reply; throws its error. */
function resultOf(reply: Reply | undefined, call: OutgoingCall): unknown {
  if (!reply) return undefined;
  const { result, error, types } = reply;
  if (!error) return types ? call.decoded(result, types) : result;
  const { code, message, data } = error;
  const decoded = types ? { code, message, data: call.decoded(data, types) } : error;
  throw RemoteError.from(decoded, call.method);
}

/** The same for a caller that wants only the result; throws if items arrived instead, which would be lost silently. */
export function wholeResult(reply: Reply | undefined, call: OutgoingCall): unknown {
  const result = resultOf(reply, call);
  if (result == null && call.streamed && !call.read) throw call.mistaken();
  return result;
}

type Items = AsyncGenerator<unknown, void, undefined>;

/** The items of a stream as they arrive; leaving the loop stops the producer. */
export function readItems(call: OutgoingCall, reply: Promise<Reply | undefined>): Items {
  const { items } = call;
  let left = false;
  const leave = (): void => {
    left = true;
    if (!items.ended) call.fail(new WireError("ABORTED", `the reader of ${call.method} stopped`));
  };
  const reading = (async function* (): Items {
    try {
      for (;;) {
        if (!items.empty) {
          const item = items.take();
          if (typeof item === "function") item();
          else yield item;
        } else if (items.ended) break;
        else await items.arrival();
      }
      if (left) return;
      const result = resultOf(await reply, call);
      if (!call.streamed && result != null) {
        const sentence = `${call.method} does not stream; call it with client.call`;
        throw new WireError("BAD_REPLY", sentence);
      }
    } finally {
      leave();
    }
  })();
  const end = reading.return.bind(reading);
  // A generator that has not started ignores `return`, and one that waits for an item delays it.
  const stop = () => {
    leave();
    return end();
  };
  reading.return = stop;
  return reading;
}
