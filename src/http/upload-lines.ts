import { WireError } from "../protocol/errors.ts";
import type { Payload } from "../protocol/exchange.ts";
import type { OutgoingUpload } from "../protocol/link.ts";
import type { Id } from "../protocol/message.ts";
import type { HttpSigner } from "../protocol/seal.ts";
import { requestText } from "../protocol/serialize.ts";
import type { HeaderRecord } from "./client-exchange.ts";

/** Says that the body has a message in each line. */
export const linesHeaders: HeaderRecord = { "content-type": "application/x-ndjson" };

/** The upload of a payload, if it has one. */
export function uploadedItems(
  { outgoing }: Payload,
  signer?: HttpSigner,
): OutgoingUpload | undefined {
  const upload = outgoing[0]?.upload;
  if (upload !== undefined && signer !== undefined) {
    throw new WireError("UNSUPPORTED", "an upload cannot be signed, because it is sent in parts");
  }
  return upload;
}

/** The body of a request with an upload: the request, and then each item when the wire wants it. */
export async function* uploadLines(
  text: string,
  payload: Payload,
  upload: OutgoingUpload,
): AsyncGenerator<string> {
  const id = payload.requests[0]?.id as Id;
  yield `${text}\n`;
  let line: string | undefined;
  let isOver = false;
  let wake: (() => void) | undefined;
  const sink = {
    item(members: object): void {
      const item = requestText({ jsonrpc: "2.0", method: "$/upload", params: { id, ...members } });
      payload.tap?.(item, "sent");
      line = `${item}\n`;
      wake?.();
    },
    done(): void {
      isOver = true;
      wake?.();
    },
    ready: () => undefined,
  };
  const next = async (): Promise<string | undefined> => {
    line = undefined;
    const came = new Promise<void>((resolve) => {
      wake = resolve;
    });
    upload.grant(1, sink);
    if (line === undefined && !isOver) await came;
    return line;
  };
  for (let item = await next(); item !== undefined; item = await next()) yield item;
}
