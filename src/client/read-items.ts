import { WireError } from "../protocol/errors.ts";
import type { OutgoingCall } from "./outgoing-call.ts";

/** The items of a stream as they come; a reader who leaves early stops the producer. */
export async function* readItems(
  call: OutgoingCall,
  result: Promise<unknown>,
): AsyncGenerator<unknown, void, undefined> {
  const { items } = call;
  try {
    yield;
    for (;;) {
      if (!items.empty) yield items.take();
      else if (items.ended) break;
      else await items.arrival();
    }
    await result;
  } finally {
    if (!items.ended) {
      call.fail(new WireError("ABORTED", `the reader of ${call.method} left`));
    }
  }
}
