import {
  chunksOf,
  endedEarly,
  isEventStream,
  RequestHeaders,
  readEvents,
  readText,
  replyText,
  unsignedEvents,
  wireErrorOf,
  writeRequest,
} from "../../http/client-exchange.ts";
import { EventStreamDecoder } from "../../http/event-stream.ts";
import type { FetchLinkOptions } from "../../http/link-options.ts";
import { defaultMaxReplyBytes } from "../../protocol/defaults.ts";
import { type Exchange, exchangeLink } from "../../protocol/exchange.ts";
import type { Link } from "../../protocol/link.ts";
import type { Request } from "../../protocol/message.ts";
import type { HttpSigner } from "../../protocol/seal.ts";
import { absoluteAddress, fetchAddress } from "../../protocol/url.ts";

export interface HttpLinkOptions extends FetchLinkOptions {
  /** Longest reply in bytes, and longest event of a stream; stops memory exhaustion. @default 10 MiB */
  readonly maxReplyBytes?: number;
  /** Signs requests and checks replies: `httpSigner` of `callwire/security/signing`. @default none */
  readonly signer?: HttpSigner;
  /**
   * Compresses requests of at least 1,024 characters with gzip, which the server must accept. In Node it also asks for
   * compressed replies; `fetch` always does. Saves bytes on slow networks, and costs time on fast ones. @default false
   */
  readonly compress?: boolean;
}

/** A server that sends items or progress before the reply answers with events, otherwise with JSON. */
export const acceptEither = "application/json, text/event-stream";

/**
 * Calls over HTTP POST, with `fetch`.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { httpLink } from "callwire/http";
 *
 * const link = httpLink("https://api.example.com/rpc", {
 *   headers: async () => ({ authorization: "Bearer d2hhdCBhIHRva2Vu" }),
 * });
 * await createClient<typeof methods>(link).api.echo("hi");
 * ```
 */
export function httpLink(url: string | URL, options: HttpLinkOptions = {}): Link {
  const { fetch: send = (to, init) => fetch(to, init), maxReplyBytes = defaultMaxReplyBytes } =
    options;
  const address = fetchAddress(url);
  const { signer, baseUrl, credentials } = options;
  const headers = new RequestHeaders(acceptEither, options.headers, credentials);

  const exchange: Exchange = async (text, payload) => {
    const [request] = payload.requests;
    const { attachments } = request as Request;
    const parts =
      attachments &&
      (await (
        await bodies()
      ).withFiles(text, request as Request, attachments, payload, options.fetch));
    const target = absoluteAddress(address, baseUrl, options.fetch);
    const isPacked = options.compress && text.length >= 1024 && !parts;
    const packed = isPacked ? await (await bodies()).gzipped(text) : undefined;
    const sent = packed ?? text;
    const coding = parts?.headers ?? (packed && { "content-encoding": "gzip" });
    const own = await headers.signed(signer, target, sent, payload, coding);
    const init = {
      method: "POST",
      headers: own,
      body: parts?.body ?? sent,
      // Required for streams, and not in the types.
      ...(parts && { duplex: "half" }),
      signal: payload.signal,
      // Following a redirect would send the call and its credentials to another server.
      redirect: "manual",
    } as const;
    const upload = payload.outgoing[0]?.upload;
    const uploading = upload ? (await bodies()).withUpload(init, text, payload, options) : init;
    try {
      const response = await (parts?.send ?? send)(target, uploading);
      const type = response.headers.get("content-type");
      if (type?.startsWith("multipart/")) {
        const { replyWithParts } = await bodies();
        return await replyWithParts(response.body, type, maxReplyBytes, payload);
      }
      const chunks = chunksOf(response.body);
      if (!isEventStream(type)) {
        const body = await readText(chunks, maxReplyBytes);
        const { status, headers } = response;
        if (status === 401 && credentials && !payload.refused && !upload?.begun) {
          // Nothing ran.
          payload.refused = true;
          return exchange(text, payload);
        }
        const header = (name: string): string | undefined => headers.get(name) ?? undefined;
        await signer?.check?.({ status, header, body }, own);
        return replyText(status, body, payload);
      }
      if (signer?.check !== undefined) throw unsignedEvents();
      const reply = await readEvents(chunks, new EventStreamDecoder(maxReplyBytes), payload);
      if (reply === undefined && payload.expectsReply) throw endedEarly();
      return reply;
    } catch (error) {
      throw wireErrorOf(error);
    } finally {
      parts?.stop();
    }
  };

  return exchangeLink(exchange, {
    address,
    write: writeRequest,
    tap: options.tap,
    // A signature covers a text.
    carriesBytes: !signer,
  });
}

/** Few calls need it. */
function bodies(): Promise<typeof import("../../http/streamed-bodies.ts")> {
  return import("../../http/streamed-bodies.ts");
}
