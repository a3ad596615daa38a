import { WireError } from "../protocol/errors.ts";
import type { Reply } from "../protocol/message.ts";
import type { OutgoingCall } from "./outgoing-call.ts";
import { resultOf } from "./result.ts";

/** The items of a stream as they come; a reader who leaves early stops the producer. */
export async function* readItems(
  call: OutgoingCall,
  reply: Promise<Reply | undefined>,
): AsyncGenerator<unknown, void, undefined> {
  const { items } = call;
  try {
    yield;
    for (;;) {
      if (!items.empty) {
        const item = items.take();
        if (typeof item === "function") item();
        else yield item;
      } else if (items.ended) break;
      else await items.arrival();
    }
    const result = resultOf(await reply);
    if (!call.streamed && result != null) {
      throw new WireError("BAD_REPLY", `${call.method} does not stream; call it with client.call`);
    }
  } finally {
    if (!items.ended) {
      call.fail(new WireError("ABORTED", `the reader of ${call.method} left`));
    }
  }
}
