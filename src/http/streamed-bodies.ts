import type { Attachments } from "../protocol/attachments.ts";
import { WireError } from "../protocol/errors.ts";
import type { Payload } from "../protocol/exchange.ts";
import type { UploadProgress } from "../protocol/link.ts";
import type { Request } from "../protocol/message.ts";
import { badReply } from "../protocol/pair.ts";
import type { HttpSigner } from "../protocol/seal.ts";
import { ArrivingParts, firstPart } from "./arriving-parts.ts";
import type { HeaderRecord } from "./client-exchange.ts";
import { replyTooLarge } from "./event-stream.ts";
import { attachedTo, type MultipartBody, multipartBody, uploadHeaders } from "./multipart-body.ts";
import { boundaryOf, MultipartReader, sourceOf } from "./multipart-reader.ts";
import { linesHeaders, uploadedItems, uploadLines } from "./upload-lines.ts";

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A request with files, and how it is sent. */
export interface Upload {
  readonly headers: HeaderRecord;
  readonly body: Blob | ReadableStream<Uint8Array>;
  readonly send: Fetch;
  /** Reads no more of the body: the server has replied, and Node's fetch would read on. */
  stop(): void;
}

export async function withFiles(
  text: string,
  request: Request,
  attachments: Attachments,
  { outgoing, signal }: Payload,
  send: Fetch | undefined,
): Promise<Upload> {
  const attached = attachedTo(request);
  const body = multipartBody(text, attached, attachments);
  const headers = uploadHeaders(body.contentType, attached.length);
  const report = outgoing[0]?.options?.onUploadProgress;
  const usual: Fetch = send ?? ((url, init) => fetch(url, init));
  if (typeof XMLHttpRequest === "undefined") {
    const whole = report === undefined ? body.blob() : undefined;
    if (whole !== undefined) return { headers, body: whole, send: usual, stop: noStop };
    const controller = new AbortController();
    const stop = (): void => controller.abort();
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    const stream = body.stream(counted(body, report), controller.signal);
    return { headers, body: stream, send: usual, stop };
  }
  // Browsers send streams over HTTP/2 only, if at all, but keep a Blob out of memory.
  const whole = body.blob() ?? (await new Response(body.stream()).blob());
  if (report === undefined || send !== undefined)
    return { headers, body: whole, send: usual, stop: noStop };
  const { xhrFetch } = await import("./xhr-fetch.ts");
  const sendWithProgress: Fetch = (url, init) => xhrFetch(url, init, report);
  return { headers, body: whole, send: sendWithProgress, stop: noStop };
}

function noStop(): void {}

/** Reports how much was sent. */
export function counted(
  { length }: MultipartBody,
  report: ((progress: UploadProgress) => void) | undefined,
): ((bytes: number) => void) | undefined {
  if (report === undefined) return undefined;
  let sent = 0;
  return (bytes) => {
    sent += bytes;
    report({ sent, total: length });
  };
}

/** The text of a reply with bytes beside it, which arrive while the caller reads them. */
export async function replyWithParts(
  body: ReadableStream<Uint8Array> | null,
  contentType: string,
  maxBytes: number,
  payload: Payload,
): Promise<string> {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) throw badReply("the reply is not multipart/form-data");
  return messageOf(new MultipartReader(sourceOf(body), boundary), maxBytes, payload);
}

/** The message of a multipart reply. */
export async function messageOf(
  reader: MultipartReader,
  maxBytes: number,
  payload: Payload,
): Promise<string> {
  const text = await firstPart(reader, maxBytes).catch((error: unknown) => {
    reader.cancel();
    throw error instanceof RangeError ? replyTooLarge(maxBytes) : error;
  });
  if (text === undefined) throw badReply("the reply is not UTF-8");
  payload.attachments = new ArrivingParts(reader, maxBytes);
  return text;
}

interface UploadSettings {
  readonly fetch?: unknown;
  readonly signer?: HttpSigner;
}

/** The request with a body that is sent while its call runs. */
export function withUpload(
  init: RequestInit,
  text: string,
  payload: Payload,
  { fetch, signer }: UploadSettings,
): RequestInit {
  const upload = uploadedItems(payload, signer);
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

/** Compresses the body of a request; undefined where the runtime cannot. */
export async function gzipped(text: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (typeof CompressionStream === "undefined") return undefined;
  const compressed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(compressed).arrayBuffer());
}
