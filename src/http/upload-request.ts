import { WireError } from "../protocol/errors.ts";
import type { Payload } from "../protocol/exchange.ts";
import type { HttpSigner } from "../protocol/seal.ts";
import { linesHeaders, uploadLines, uploadOf } from "./upload-lines.ts";

interface Settings {
  readonly fetch?: unknown;
  readonly signer?: HttpSigner;
}

/** The request with a body that is sent while its call runs. Links load this file when they need it. */
export function withUpload(
  init: RequestInit,
  text: string,
  payload: Payload,
  { fetch, signer }: Settings,
): RequestInit {
  const upload = uploadOf(payload, signer);
  if (upload === undefined) return init;
  // Firefox and Safari would send "[object ReadableStream]", and Chromium sends a stream over HTTP/2 only.
  if (fetch === undefined && ("document" in globalThis || "importScripts" in globalThis)) {
    const sentence = "browsers cannot send an upload over HTTP; use webSocketLink or workerLink";
    throw new WireError("UNSUPPORTED", sentence);
  }
  const lines = uploadLines(text, payload, upload);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await lines.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
    },
    // Takes an item when it can be sent, not before.
    { highWaterMark: 0 },
  );
  const headers = { ...(init.headers as Record<string, string>), ...linesHeaders };
  const streamed: RequestInit & { readonly duplex: "half" } = {
    ...init,
    headers,
    body,
    duplex: "half",
  };
  return streamed;
}
