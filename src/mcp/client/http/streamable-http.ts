import type { Connection } from "../../../connection/connection.ts";
import { isEventStream, replyText } from "../../../http/client-exchange.ts";
import { BriefMap } from "../../../protocol/brief-map.ts";
import { WireError } from "../../../protocol/errors.ts";
import { exchangeLink, type Payload } from "../../../protocol/exchange.ts";
import type { Link, Outgoing } from "../../../protocol/link.ts";
import type { Reply, Request } from "../../../protocol/message.ts";
import { Origin } from "../../../protocol/origin.ts";
import { callsOf, dropCall } from "../../../protocol/origin-calls.ts";
import { isEnvelope } from "../../../protocol/parse.ts";
import { parsed } from "../../../protocol/parsed.ts";
import { requestText } from "../../../protocol/serialize.ts";
import { isHandshake } from "../handshake.ts";
import type { ClientEnd, McpLink } from "../wire.ts";
import { Carrier, type CarrierOptions, type Send } from "./carrier.ts";
import { type HttpAnswer, isSuccess } from "./http-answer.ts";
import { connectHttpSse } from "./http-sse.ts";
import { refusedAnswer, sessionLost, unknownHere } from "./refused.ts";
import { type HttpSession, headersFor, revisionIn, sessionHeaders } from "./request-headers.ts";
import { type ResumeOptions, resumableEvents } from "./resumable-events.ts";
import { ServerStream } from "./server-stream.ts";
import { inFlightOf, Turns } from "./turns.ts";

export interface StreamableHttpOptions extends CarrierOptions, ResumeOptions {
  /** Whether to hear what a server of the legacy era says outside of requests. @default true */
  readonly serverStream?: boolean | undefined;
  /** Whether to try the transport of 2024-11-05 where this one is unknown. @default true */
  readonly httpSse?: boolean | undefined;
  /** Most calls on their way at a time; further ones wait their turn. @default 256 */
  readonly maxInFlight?: number | undefined;
}

const accept = "application/json, text/event-stream";
/** How long the server may take to hear that the session is over. */
const goodbyeMs = 2_000;

/** Lasts as long as somebody wants to hear of changes, and so takes no turn. */
const listening = "subscriptions/listen";
/** Calls may be waiting for these, so that these wait for no call. */
const urgent: ReadonlySet<string> = new Set([
  "logging/setLevel",
  "ping",
  "tasks/cancel",
  "tasks/update",
]);

/** Streamable HTTP as a link: each request is a POST, answered with JSON or with events. */
export class StreamableHttp implements McpLink {
  readonly #carrier: Carrier;
  readonly #options: StreamableHttpOptions;
  readonly #end: ClientEnd;
  readonly #inner: Link;
  readonly #origin = new Origin({ kind: "http", headers: {}, remoteAddress: undefined });
  /** What awaits its reply, by the id of the request. */
  readonly #open = new BriefMap<unknown, Payload>();
  readonly #turns: Turns;
  readonly #release: (() => unknown) | undefined;
  #session: HttpSession | undefined;
  #stream: ServerStream | undefined;
  #older: Link | undefined;
  #closed = false;

  /** `release` lets go of what `send` holds, once nothing more is sent. */
  constructor(
    url: string | URL,
    options: StreamableHttpOptions,
    end: ClientEnd,
    { send, release }: { readonly send?: Send; readonly release?: () => unknown } = {},
  ) {
    this.#release = release;
    this.#carrier = new Carrier(url, options, send);
    this.#options = options;
    this.#end = end;
    this.#turns = new Turns(inFlightOf(options));
    this.#inner = exchangeLink((text, payload) => this.#inTurn(text, payload));
  }

  get listening(): Promise<void> | undefined {
    return this.#stream?.listening;
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    if (this.#older !== undefined) return this.#older.send(request, outgoing);
    if (request.method === "initialize") return this.#initialize(request, outgoing);
    return this.#inner.send(request, outgoing);
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    // Only one revision has batches, and no client needs them.
    return requests.map((request, i) => this.send(request, outgoing[i] as Outgoing));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#leaveSession();
    await Promise.all([this.#inner.close(), this.#older?.close(), this.#endSession()]);
    await this.#release?.();
  }

  /** A session begins; where the endpoint does not know this transport, it may know the one before. */
  async #initialize(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    this.#leaveSession();
    this.#session = undefined;
    try {
      return await this.#inner.send(request, outgoing);
    } catch (error) {
      const { status } = error instanceof WireError ? error : { status: undefined };
      const isUnknown = status === 400 || status === 404 || status === 405;
      if (!isUnknown || this.#options.httpSse === false) throw error;
      const older = await this.#connectOlder(outgoing).catch(() => undefined);
      if (older === undefined) throw error;
      this.#older = older;
      void older.closed.then(() => {
        this.#older = undefined;
        this.#end.forgotten();
      });
      return older.send(request, outgoing);
    }
  }

  /** A server that opens the stream and says nothing on it is not waited for longer than the caller waits. */
  #connectOlder(outgoing: Outgoing): Promise<Connection> {
    const controller = new AbortController();
    outgoing.cancel = () => controller.abort();
    return connectHttpSse(this.#carrier, this.#end, controller, this.#options.clock);
  }

  /** Nobody waits for the answers to what was asked in it. */
  #leaveSession(): void {
    this.#stream?.close();
    for (const call of [...callsOf(this.#end.service.running, this.#origin)]) call.silence();
  }

  #inTurn(text: string, payload: Payload): Promise<string | undefined> {
    const [{ method }] = payload.requests as readonly [Request];
    const mayWait = payload.expectsReply && !isHandshake(method) && !urgent.has(method);
    const beside = method === listening || !(mayWait || this.#turns.isFree);
    const send = (): Promise<string | undefined> => this.#exchange(text, payload, beside);
    return beside ? send() : this.#turns.run(payload, send);
  }

  async #exchange(text: string, payload: Payload, beside: boolean): Promise<string | undefined> {
    const [request] = payload.requests as readonly [Request];
    // It may have waited its turn while the session was lost, and the next one is only being begun.
    if (this.#session === undefined && belongsToSession(request)) throw sessionLost();
    const controller = new AbortController();
    const cancel = (): void => {
      controller.abort();
      this.#tellCancelled(request);
    };
    payload.onCancel = cancel;
    if (payload.expectsReply) this.#open.set(request.id, payload);
    try {
      const session = this.#session;
      const response = await this.#carrier.send({
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept,
          ...headersFor(request, session),
          ...payload.headers,
        },
        body: text,
        signal: controller.signal,
        beside,
      });
      const reply = await this.#replyOf(response, payload, session, controller.signal);
      if (request.method === "initialize") this.#begin(response, reply);
      if (request.method === "notifications/initialized") this.#listen();
      return reply;
    } finally {
      this.#open.take(request.id);
      payload.onCancel = undefined;
    }
  }

  async #replyOf(
    response: HttpAnswer,
    payload: Payload,
    session: HttpSession | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { status } = response;
    if (!isEventStream(response.header("content-type"))) {
      const isRefused = status === 401 || status === 403;
      // The status says enough, also where the body cannot be read.
      const body = this.#carrier.text(response);
      const text = await (isRefused ? body.catch(() => "") : body);
      if (text !== "") this.#carrier.tap?.(text, "received");
      if (isRefused) return refusedAnswer(status, text, payload.requests[0] as Request);
      if (status === 404 && session?.id !== undefined) throw sessionLost();
      const isBeginning = payload.requests[0]?.method === "initialize";
      if (isBeginning && (status === 404 || status === 405)) throw unknownHere(status);
      return payload.expectsReply || status >= 300 ? replyText(status, text, payload) : undefined;
    }
    const events = resumableEvents(
      response,
      this.#carrier,
      () => sessionHeaders(this.#session),
      signal,
      this.#options,
    );
    for await (const text of events) {
      this.#carrier.tap?.(text, "received");
      if (!this.#receive(text, payload)) return text;
    }
    return undefined;
  }

  /** Takes what is not a reply: a request or a notification of the server. */
  #receive(text: string, payload?: Payload): boolean {
    const message = parsed(text);
    if (Array.isArray(message)) {
      // A revision has batches; each entry is taken for itself.
      return message.every((entry) => this.#receive(JSON.stringify(entry), payload));
    }
    if (!isEnvelope(message) || typeof message.method !== "string") return payload === undefined;
    const { notices, service } = this.#end;
    const notice =
      message.id === undefined ? notices.read(message.method, message.params) : undefined;
    if (notice?.kind === "progress") this.#open.get(notice.token)?.progress(notice.value);
    else if (notice?.kind === "cancel") {
      dropCall(callsOf(service.running, this.#origin), notice.id);
    } else void this.#answer(text);
    return true;
  }

  async #answer(text: string): Promise<void> {
    const reply = await this.#end.service.receive(text, this.#origin);
    if (reply !== undefined) await this.#post(reply);
  }

  /** Sends what nobody answers; that it did not arrive is for the log only. */
  async #post(text: string): Promise<void> {
    try {
      const response = await this.#carrier.send({
        method: "POST",
        headers: { "content-type": "application/json", accept, ...sessionHeaders(this.#session) },
        body: text,
        beside: true,
      });
      await response.discard();
      if (isSuccess(response)) return;
      this.#end.log.warn({ status: response.status }, "an MCP server refused a message");
    } catch (error) {
      if (!this.#closed) this.#end.log.warn({ err: error }, "a message to an MCP server was lost");
    }
  }

  /** In the modern era hanging up says it; before, a broken connection meant nothing. */
  #tellCancelled(request: Request): void {
    const { id, method } = request;
    if (this.#closed || id === undefined || id === null || method === "initialize") return;
    if (revisionIn(request) !== undefined) return;
    void this.#post(requestText({ jsonrpc: "2.0", ...this.#end.notices.cancel(id) }));
  }

  #begin(response: HttpAnswer, reply: string | undefined): void {
    const { result } = (parsed(reply ?? "") ?? {}) as { result?: { protocolVersion?: unknown } };
    const revision = result?.protocolVersion;
    if (typeof revision !== "string") return;
    this.#session = { id: response.header("mcp-session-id"), revision };
  }

  #listen(): void {
    if (this.#closed || this.#options.serverStream === false) return;
    this.#stream = new ServerStream(this.#carrier, {
      ...this.#options,
      log: this.#end.log,
      gap: () => this.#end.gap(),
      forgotten: () => this.#end.forgotten(),
      sessionHeaders: () => sessionHeaders(this.#session),
      receive: (text) => {
        this.#carrier.tap?.(text, "received");
        this.#receive(text);
      },
    });
  }

  async #endSession(): Promise<void> {
    if (this.#session?.id === undefined) return;
    const signal = AbortSignal.timeout(goodbyeMs);
    const headers = sessionHeaders(this.#session);
    try {
      const response = await this.#carrier.send({ method: "DELETE", headers, signal });
      await response.discard();
    } catch {
      // It ends by itself in time.
    }
  }
}

/** Requests of the modern era name their revision themselves. */
function belongsToSession(request: Request): boolean {
  return !isHandshake(request.method) && revisionIn(request) === undefined;
}
