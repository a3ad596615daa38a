import type { Connection } from "../../../connection/connection.ts";
import { isEventStream, replyText } from "../../../http/client-exchange.ts";
import { BriefMap } from "../../../protocol/brief-map.ts";
import { isEnvelope } from "../../../protocol/envelope.ts";
import { WireError } from "../../../protocol/errors.ts";
import { exchangeLink, type Payload } from "../../../protocol/exchange.ts";
import { parseJson } from "../../../protocol/json-text.ts";
import type { Link, Outgoing } from "../../../protocol/link.ts";
import type { Reply, Request } from "../../../protocol/message.ts";
import { Origin } from "../../../protocol/origin.ts";
import { callsOf, dropCall } from "../../../protocol/origin-calls.ts";
import { requestText } from "../../../protocol/serialize.ts";
import { isHandshake } from "../handshake.ts";
import type { ClientEnd, McpLink } from "../wire.ts";
import {
  type HttpSession,
  headersFor,
  notMcp,
  refusedAnswer,
  revisionIn,
  SessionLost,
  sessionHeaders,
  sessionLossIn,
} from "./http-mapping.ts";
import {
  type HttpResponse,
  HttpSender,
  type HttpSenderOptions,
  isSuccess,
  type Send,
} from "./http-sender.ts";
import { connectHttpSse } from "./http-sse.ts";
import { AnswersInFlight, InFlightLimit, inFlightOf } from "./in-flight-limit.ts";
import { type ResumeOptions, resumableEvents } from "./resumable-events.ts";
import { ServerStream } from "./server-stream.ts";

export interface StreamableHttpOptions extends HttpSenderOptions, ResumeOptions {
  /** Whether to open a stream for messages of legacy servers that belong to no request. @default true */
  readonly serverStream?: boolean | undefined;
  /** Whether to fall back to the transport of 2024-11-05 if the server does not support this one. @default true */
  readonly httpSse?: boolean | undefined;
  /** Most calls in flight; further calls wait. @default 256 */
  readonly maxInFlight?: number | undefined;
}

const accept = "application/json, text/event-stream";
/** How long to wait on close for the server to end the session. */
const goodbyeMs = 2_000;
/** How long a server may take to accept a message that has no reply. */
const longestPostMs = 60_000;

/** Streamable HTTP as a link: each request is a POST, answered with JSON or an event stream. */
export class StreamableHttp implements McpLink {
  readonly #sender: HttpSender;
  readonly #options: StreamableHttpOptions;
  readonly #end: ClientEnd;
  readonly #inner: Link;
  readonly #origin: Origin;
  readonly #answers = new AnswersInFlight();
  /** Requests that await their reply, by id. */
  readonly #open = new BriefMap<unknown, Payload>();
  /** Their callers. */
  readonly #callers = new BriefMap<unknown, Outgoing>();
  readonly #inFlight: InFlightLimit;
  readonly #release: (() => unknown) | undefined;
  #session: HttpSession | undefined;
  #stream: ServerStream | undefined;
  #older: Link | undefined;
  #closed = false;

  /** `release` frees the resources of `send` after the last request. */
  constructor(
    url: string | URL,
    options: StreamableHttpOptions,
    end: ClientEnd,
    { send, release }: { readonly send?: Send; readonly release?: () => unknown } = {},
  ) {
    this.#release = release;
    this.#sender = new HttpSender(url, options, send);
    this.#options = options;
    this.#end = end;
    const transport = { kind: "http", headers: {}, remoteAddress: undefined };
    this.#origin = new Origin(transport, undefined, end.service.limits);
    this.#inFlight = new InFlightLimit(inFlightOf(options));
    this.#inner = exchangeLink((text, payload) => this.#inTurn(text, payload));
  }

  get listening(): Promise<void> | undefined {
    return this.#stream?.listening;
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    if (this.#older !== undefined) return this.#older.send(request, outgoing);
    if (request.method === "initialize") return this.#initialize(request, outgoing);
    const sent = this.#inner.send(request, outgoing);
    const { id } = request;
    if (id === undefined) return sent;
    this.#callers.set(id, outgoing);
    const over = (): void => void this.#callers.take(id);
    sent.then(over, over);
    return sent;
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    // Only one revision has batches, and clients need not send any.
    return requests.map((request, i) => this.send(request, outgoing[i] as Outgoing));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#leaveSession();
    await Promise.all([this.#inner.close(), this.#older?.close(), this.#endSession()]);
    await this.#release?.();
  }

  /** Opens a session; falls back to the older transport if the endpoint does not support this one. */
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

  /** Stops waiting for a silent server when the caller does. */
  #connectOlder(outgoing: Outgoing): Promise<Connection> {
    const controller = new AbortController();
    outgoing.cancel = () => controller.abort();
    return connectHttpSse(this.#sender, this.#end, controller, this.#options.clock);
  }

  /** Drops the server's requests of the session; their answers are no longer needed. */
  #leaveSession(): void {
    this.#stream?.close();
    for (const call of [...callsOf(this.#end.service.running, this.#origin)]) call.drop();
  }

  #inTurn(text: string, payload: Payload): Promise<string | undefined> {
    const beside = this.#inFlight.isPassedBy(payload);
    const send = (): Promise<string | undefined> => this.#exchange(text, payload, beside);
    return beside ? send() : this.#inFlight.run(payload, send);
  }

  async #exchange(text: string, payload: Payload, beside: boolean): Promise<string | undefined> {
    const [request] = payload.requests as readonly [Request];
    // The session may have been lost while the request waited, and the next one not yet begun.
    if (this.#session === undefined && belongsToSession(request)) throw new SessionLost(404);
    const controller = new AbortController();
    const cancel = (): void => {
      controller.abort();
      this.#notifyCancelled(request);
    };
    payload.onCancel = cancel;
    if (payload.expectsReply) this.#open.set(request.id, payload);
    try {
      const session = this.#session;
      const response = await this.#sender.send({
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
    response: HttpResponse,
    payload: Payload,
    session: HttpSession | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { status } = response;
    if (!isEventStream(response.header("content-type"))) {
      const isRefused = status === 401 || status === 403;
      // The status is sufficient even if the body cannot be read.
      const body = this.#sender.text(response);
      const text = await (isRefused ? body.catch(() => "") : body);
      if (text !== "") this.#sender.tap?.(text, "received");
      if (isRefused) return refusedAnswer(status, text, payload.requests[0] as Request);
      if (session?.id !== undefined) {
        const lost = sessionLossIn(status, text, payload.requests[0] as Request);
        if (lost !== undefined) throw lost;
      }
      const isBeginning = payload.requests[0]?.method === "initialize";
      if (isBeginning && (status === 404 || status === 405)) throw notMcp(status);
      return payload.expectsReply || status >= 300 ? replyText(status, text, payload) : undefined;
    }
    const events = resumableEvents(
      response,
      this.#sender,
      () => sessionHeaders(this.#session),
      signal,
      this.#options,
      (lost) => this.#lost(payload, lost),
    );
    for await (const text of events) {
      this.#sender.tap?.(text, "received");
      if (!this.#receive(text, payload)) return text;
      await this.#answers.room();
    }
    return undefined;
  }

  /** If a call times out before its broken stream was resumed, its error is the loss. */
  #lost(payload: Payload, lost: WireError): void {
    const [request] = payload.requests as readonly [Request];
    const caller = this.#callers.take(request.id);
    const inner = caller?.cancel;
    if (caller === undefined || inner === undefined) return;
    const cancel = (error: WireError): void => {
      if (error.code === "TIMEOUT") error.cause ??= lost;
      inner(error);
    };
    caller.cancel = cancel;
  }

  /** Handles a request or notification of the server; false for a reply. */
  #receive(text: string, payload?: Payload): boolean {
    const message = parseJson(text);
    if (Array.isArray(message)) {
      // 2025-03-26 has batches; each entry is handled by itself.
      return message.every((entry) => this.#receive(JSON.stringify(entry), payload));
    }
    if (!isEnvelope(message) || typeof message.method !== "string") return payload === undefined;
    const { notices, service } = this.#end;
    const notice =
      message.id === undefined ? notices.read(message.method, message.params) : undefined;
    if (notice?.kind === "progress") {
      this.#open.get(notice.token)?.outgoing[0]?.progress(notice.value);
    } else if (notice?.kind === "cancel") {
      dropCall(callsOf(service.running, this.#origin), notice.id);
    } else this.#answer(text);
    return true;
  }

  #answer(text: string): void {
    const send = (reply: string | undefined): void => {
      if (reply !== undefined) void this.#answers.send(() => this.#post(reply));
    };
    const answer = this.#end.service.receive(text, this.#origin);
    if (answer instanceof Promise) void answer.then(send);
    else send(answer);
  }

  /** Sends a message that has no reply; failures are only logged. */
  async #post(text: string): Promise<void> {
    try {
      const response = await this.#sender.send({
        method: "POST",
        headers: { "content-type": "application/json", accept, ...sessionHeaders(this.#session) },
        body: text,
        signal: AbortSignal.timeout(longestPostMs),
        beside: true,
      });
      await response.discard();
      if (isSuccess(response)) return;
      this.#end.log.warn({ status: response.status }, "an MCP server refused a message");
    } catch (error) {
      if (!this.#closed)
        this.#end.log.warn({ err: error }, "could not send a message to an MCP server");
    }
  }

  /** In the modern era closing the connection cancels; legacy servers need a notification. */
  #notifyCancelled(request: Request): void {
    const { id, method } = request;
    if (this.#closed || id === undefined || id === null || method === "initialize") return;
    if (revisionIn(request) !== undefined) return;
    void this.#post(requestText({ jsonrpc: "2.0", ...this.#end.notices.cancel(id) }));
  }

  #begin(response: HttpResponse, reply: string | undefined): void {
    const { result } = (parseJson(reply ?? "") ?? {}) as { result?: { protocolVersion?: unknown } };
    const revision = result?.protocolVersion;
    if (typeof revision !== "string") return;
    this.#session = { id: response.header("mcp-session-id"), revision };
  }

  #listen(): void {
    if (this.#closed || this.#options.serverStream === false) return;
    this.#stream = new ServerStream(this.#sender, {
      ...this.#options,
      log: this.#end.log,
      gap: () => this.#end.gap(),
      forgotten: () => this.#end.forgotten(),
      sessionHeaders: () => sessionHeaders(this.#session),
      receive: (text) => {
        this.#sender.tap?.(text, "received");
        this.#receive(text);
        return this.#answers.room();
      },
    });
  }

  async #endSession(): Promise<void> {
    if (this.#session?.id === undefined) return;
    const signal = AbortSignal.timeout(goodbyeMs);
    const headers = sessionHeaders(this.#session);
    try {
      const response = await this.#sender.send({ method: "DELETE", headers, signal });
      await response.discard();
    } catch {
      // The server ends an idle session by itself.
    }
  }
}

/** Legacy requests other than the handshake need a session. */
function belongsToSession(request: Request): boolean {
  return !isHandshake(request.method) && revisionIn(request) === undefined;
}
