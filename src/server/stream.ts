import { hasEnded, whenEnded } from "../protocol/call-end.ts";
import type { Context } from "../protocol/context.ts";
import { caught } from "../protocol/handler-reply.ts";
import { ItemSender, streamRefusal } from "../protocol/item-sender.ts";
import { failure, type Reply, success } from "../protocol/message.ts";
import type { Schema } from "../protocol/standard-schema.ts";
import { checkedValue } from "./validate.ts";

type Items = AsyncIterable<unknown> | Iterable<unknown>;

/** Sends the items of a generator, as fast as the reader grants credit, and replies when it is done. */
export function sendItems(
  start: () => Items,
  context: Context,
  itemSchema: Schema | undefined,
): Promise<Reply> | Reply {
  if (context.id === undefined) return success(null);
  const refusal = streamRefusal(context);
  return refusal === undefined ? run(start, context, itemSchema) : failure(refusal);
}

async function run(
  start: () => Items,
  context: Context,
  itemSchema: Schema | undefined,
): Promise<Reply> {
  const sender = new ItemSender(context);
  let iterator: AsyncIterator<unknown> | Iterator<unknown> | undefined;
  let finished = false;
  /** Set if the reader left while the next item was awaited. */
  let left: Promise<void> | undefined;
  try {
    const items = start();
    if (Symbol.asyncIterator in items) {
      const waiting = items[Symbol.asyncIterator]();
      iterator = waiting;
      whenEnded(context, () => {
        if (!finished) left = leave(waiting);
      });
    } else iterator = items[Symbol.iterator]();
    while (!hasEnded(context)) {
      const next = await iterator.next();
      if (next.done === true) {
        finished = true;
        return success(next.value ?? null);
      }
      const value =
        itemSchema === undefined
          ? next.value
          : checkedValue(await itemSchema["~standard"].validate(next.value), "item");
      const sent = sender.send(value);
      if (sent !== true && !(await sent)) break;
    }
    return success(null);
  } catch (thrown) {
    return caught(thrown, context);
  } finally {
    sender.end();
    if (left !== undefined) await left;
    else if (!finished) {
      finished = true;
      await iterator?.return?.();
    }
  }
}

/** The next item may never come. A generator sees `return` when it does, other iterators at once. */
async function leave(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The call was cancelled, so nothing waits for the error.
  }
}
