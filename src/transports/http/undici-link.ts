import type { ConnectionOptions } from "node:tls";
import type { buildConnector, Pool } from "undici";
import { type HeaderRecord, RequestHeaders, writeRequest } from "../../http/client-exchange.ts";
import { compressedFromLength, type SentBody } from "../../http/content-coding.ts";
import { attachedTo, multipartBody, uploadHeaders } from "../../http/multipart-body.ts";
import { compress, nodeCodings } from "../../http/node-codings.ts";
import { renewing } from "../../http/renewed-exchange.ts";
import { counted } from "../../http/streamed-bodies.ts";
import { linesHeaders, uploadedItems, uploadLines } from "../../http/upload-lines.ts";
import type { Attachments } from "../../protocol/attachments.ts";
import { defaultMaxReplyBytes } from "../../protocol/defaults.ts";
import { WireError } from "../../protocol/errors.ts";
import { type Exchange, exchangeLink, type Payload } from "../../protocol/exchange.ts";
import type { Link } from "../../protocol/link.ts";
import type { Request } from "../../protocol/message.ts";
import { absoluteAddress, httpUrl, isRelative } from "../../protocol/url.ts";
import { connectorOf } from "./connector.ts";
import { acceptEither, httpLink as fetchLink, type HttpLinkOptions } from "./fetch-link.ts";
import { InflatingHandler } from "./inflating-handler.ts";
import { PlainPool } from "./plain-pool.ts";
import { PoolCall } from "./pool-call.ts";

export interface NodeHttpLinkOptions extends HttpLinkOptions {
  /**
   * Most connections at the same time; further calls wait for a free one, and each open stream holds one. Requests that
   * undici sends, such as uploads, have as many again. @default 256
   */
  readonly connections?: number;
  /**
   * Sends short requests over connections of its own and reads plain replies itself, in about two thirds of the time
   * of undici, which sends and reads everything else. False leaves everything to undici. @default true
   */
  readonly fastPath?: boolean;
  /** How to verify the server, and the certificate of the client: `ca`, `cert`, `key`, … @default the roots of Node */
  readonly tls?: Pick<
    ConnectionOptions,
    "ca" | "cert" | "key" | "passphrase" | "pfx" | "servername" | "rejectUnauthorized"
  >;
}

/**
 * Calls over HTTP POST, with a pool of connections, which takes a fraction of the time of `fetch` in Node. Idle connections do not keep the process alive.
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
export function httpLink(url: string | URL, options: NodeHttpLinkOptions = {}): Link {
  if (options.fetch !== undefined || isOfPage(url, options)) return fetchLink(url, options);
  const { maxReplyBytes = defaultMaxReplyBytes, signer } = options;
  const address = isRelative(url) ? undefined : httpUrl(url);
  let destination: Destination | undefined;
  let opening: Promise<void> | undefined;
  let closed = false;
  const headers = new RequestHeaders(acceptEither, options.headers, options.credentials);

  // The signature of a reply covers its text.
  const codings = signer?.check === undefined ? nodeCodings : ["identity"];
  const coding = options.compress ? { "accept-encoding": codings.join(", ") } : undefined;

  const open = async (): Promise<void> => {
    const to = address ?? httpUrl(absoluteAddress(url, options.baseUrl));
    const opened = await destinationOf(to, options);
    if (closed) throw closedError();
    destination = opened;
  };

  const dispatch = (
    body: SentBody | AsyncIterable<string> | ReadableStream<Uint8Array>,
    payload: Payload,
    own: HeaderRecord,
  ): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const call = new PoolCall(payload, maxReplyBytes, resolve, reject);
      const to = destination as Destination;
      if (typeof body === "string" && to.plain?.dispatch(body, own, call)) return;
      if (signer?.check !== undefined) call.check = { reply: signer.check, sent: own };
      const handler = options.compress ? new InflatingHandler(call) : call;
      // Its types leave out iterables and streams, which it takes as any other request of undici does.
      const sent = body as SentBody;
      const request = { path: to.path, method: "POST", headers: own, body: sent } as const;
      if (to.pool !== undefined) to.pool.dispatch(request, handler);
      else {
        openPool(to, options)
          .then((pool) => {
            if (closed) throw closedError();
            pool.dispatch(request, handler);
          })
          .catch(reject);
      }
    });

  const send = (
    body: SentBody,
    payload: Payload,
    { target }: Destination,
    coded: HeaderRecord | undefined,
  ): Promise<string | undefined> => {
    const own = headers.signed(signer, target, body, payload, coded);
    return own instanceof Promise
      ? own.then((given) => dispatch(body, payload, given))
      : dispatch(body, payload, own);
  };

  const upload = async (
    text: string,
    request: Request,
    attachments: Attachments,
    payload: Payload,
  ): Promise<string | undefined> => {
    const attached = attachedTo(request);
    const body = multipartBody(text, attached, attachments);
    const { contentType, length } = body;
    const own = {
      ...(await headers.of(payload)),
      ...uploadHeaders(contentType, attached.length),
      ...(length !== undefined && { "content-length": `${length}` }),
    };
    const report = payload.outgoing[0]?.options?.onUploadProgress;
    return dispatch(body.stream(counted(body, report)), payload, own);
  };

  const exchange: Exchange = (text, payload) => {
    if (destination === undefined) {
      opening ??= open().finally(() => {
        opening = undefined;
      });
      return opening.then(() => exchange(text, payload));
    }
    const to = destination;
    const items = uploadedItems(payload, signer);
    if (items !== undefined) {
      return Promise.resolve(headers.of(payload)).then((own) =>
        dispatch(uploadLines(text, payload, items), payload, {
          ...own,
          ...coding,
          ...linesHeaders,
        }),
      );
    }
    const [request] = payload.requests as [Request];
    if (request.attachments !== undefined) {
      return upload(text, request, request.attachments, payload);
    }
    if (coding === undefined || text.length < compressedFromLength) {
      return send(text, payload, to, coding);
    }
    const coded = { ...coding, "content-encoding": "gzip" };
    return compress(text, "gzip").then((body) => send(body, payload, to, coded));
  };

  return exchangeLink(renewing(exchange, options.credentials), {
    address: `${url}`,
    write: writeRequest,
    close: async () => {
      closed = true;
      await Promise.all([destination?.plain?.destroy(), destination?.pool?.destroy()]);
    },
    tap: options.tap,
    // A signature covers a text.
    carriesBytes: signer === undefined,
  });
}

/**
 * Whether the link is code of a page, which also runs in Node, in tests and on servers that render: it uses `fetch`
 * there too, because MSW, Next.js and others replace that.
 */
function isOfPage(url: string | URL, { connections, tls }: NodeHttpLinkOptions): boolean {
  return isRelative(url) && connections === undefined && tls === undefined;
}

/** Where the calls of a link go. */
interface Destination {
  readonly origin: string;
  readonly target: string;
  readonly path: string;
  /** For plain requests; undefined if all are left to undici. */
  readonly plain: PlainPool | undefined;
  /** For all others; opened with the first of them. */
  pool: Pool | undefined;
}

const defaultConnections = 256;

async function destinationOf(url: URL, options: NodeHttpLinkOptions): Promise<Destination> {
  const { origin, host, pathname, search } = url;
  const path = pathname + search;
  const { connections = defaultConnections, signer, compress, fastPath = true } = options;
  const plain =
    fastPath && signer === undefined && compress !== true
      ? new PlainPool({ origin, host, path }, await connectorOf(url, options.tls), connections)
      : undefined;
  return { origin, target: origin + path, path, plain, pool: undefined };
}

/** undici takes as long to load as all of callwire, and servers, which import this file too, seldom need it. */
async function openPool(to: Destination, options: NodeHttpLinkOptions): Promise<Pool> {
  const { buildConnector, Pool } = await import("undici");
  to.pool ??= new Pool(to.origin, {
    connections: options.connections ?? defaultConnections,
    // The caller decides how long to wait for a reply.
    headersTimeout: 0,
    connect: closingOnErrors(buildConnector({ ...options.tls })),
  });
  return to.pool;
}

function closedError(): WireError {
  return new WireError("CLOSED", "the link is closed");
}

/** Closes a socket after a bad TLS record: Node emits an error and leaves it open, so that the call would wait forever. */
function closingOnErrors(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...outcome) => {
      const [, socket] = outcome;
      socket?.on("error", () => socket.destroy());
      callback(...outcome);
    });
}
