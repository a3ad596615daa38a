import {
  type Attachments,
  attachedOf,
  defaultMaxBytes,
  describedIn,
  mayAttach,
  withBytesInside,
} from "../protocol/attachments.ts";
import type { Context } from "../protocol/context.ts";
import { carries, type Link } from "../protocol/link.ts";
import type { Request } from "../protocol/message.ts";
import { fileFault } from "../protocol/received-bytes.ts";
import { invalidParams, serverBusy } from "../protocol/standard-errors.ts";
import { Settled, tooLong } from "./failures.ts";

/** The request with its bytes beside it or, if the link cannot carry them, as base64 inside. */
export async function carriable(
  request: Request,
  attachments: Attachments,
  link: Link,
  maxBytes: number | undefined,
  { signal, incoming }: Context,
): Promise<Request> {
  if (await carries(link, request)) return { ...request, attachments };
  // They are held as bytes, as base64, and in the message that is sent.
  const hold = (bytes: number): Error | undefined =>
    incoming === undefined || incoming.holdToEnd(3 * bytes) ? undefined : new Settled(serverBusy);
  const most = maxBytes ?? defaultMaxBytes;
  try {
    return await withBytesInside(request, attachments, most, signal, hold);
  } catch (error) {
    throw error instanceof RangeError ? new Settled(tooLong) : error;
  }
}

/** The bytes beside a request, if it has any. */
export function attachmentsOf(
  { params, types }: Request,
  { incoming }: Context,
): Attachments | undefined {
  if (incoming === undefined || types === undefined || !mayAttach(types)) return undefined;
  try {
    const described = describedIn(params, types);
    const fault = fileFault(described, incoming.limits);
    if (fault !== undefined) throw new Settled(fault);
    return attachedOf(described).length === 0 ? undefined : incoming.attachments;
  } catch (error) {
    throw error instanceof Settled ? error : new Settled(invalidParams((error as Error).message));
  }
}
