import type { Reply, Request } from "./message.ts";
import type { ValueCodec } from "./value-codec.ts";

/** Closes the files and streams of a result that nothing will read. */
export function discardBytes(
  reply: Reply | undefined,
  { types }: Request,
  values: ValueCodec,
): void {
  if (reply === undefined || reply.error !== undefined || types === undefined) return;
  const attachments =
    reply.types === undefined ? values.encode(reply.result)?.attachments : reply.attachments;
  attachments?.discard();
}
