import { decodeUtf8 } from "../../framing/utf8.ts";
import { chunksOf, readBytes } from "../../http/client-exchange.ts";
import {
  type EventHost,
  type EventPeer,
  type EventSink,
  eventHeaders,
} from "../../http/event-peer.ts";
import { StreamSink } from "../../http/fetch-event-sink.ts";
import { FetchHead, FetchTransport } from "../../http/fetch-head.ts";
import { replyForm } from "../../http/media-type.ts";
import {
  badRequest,
  type Refusal,
  replyHeaders,
  statusOf,
  streamGone,
} from "../../http/refusal.ts";
import { internalError } from "../../protocol/errors.ts";
import { Origin, unreachablePeer } from "../../protocol/origin.ts";
import { abandonCalls } from "../../protocol/origin-calls.ts";
import { errorText } from "../../protocol/serialize.ts";
import type { Service } from "../../protocol/service.ts";
import { connectionLost, Endpoint, type HttpOptions, type Route } from "./endpoint.ts";

export interface FetchHandlerOptions extends HttpOptions {
  /** Tells the caller's address from what the runtime passes; requests themselves do not say it. */
  readonly remoteAddress?: (request: Request, ...rest: unknown[]) => string | undefined;
}

export type FetchHandler = (request: Request, ...rest: unknown[]) => Promise<Response>;

/**
 * Answers requests of Hono, Next.js, Workers, Deno, Bun and whatever else speaks `fetch`:
 * `Deno.serve(fetchHandler(server))`, `app.all("/rpc", (c) => handler(c.req.raw))`.
 */
export function fetchHandler(service: Service, options: FetchHandlerOptions = {}): FetchHandler {
  const rules = new Endpoint(service, options);
  const { remoteAddress } = options;
  return (request, ...rest) => {
    const address = remoteAddress && (() => remoteAddress(request, ...rest));
    return new FetchExchange(rules, request, address).respond();
  };
}

const jsonHeaders = { "content-type": "application/json" };
const jsonReply: ResponseInit = { headers: jsonHeaders };

/** One request that brings a call, from its body to its reply. */
class FetchExchange implements EventHost {
  readonly #rules: Endpoint;
  readonly #request: Request;
  readonly #head: FetchHead;
  readonly #address: (() => string | undefined) | undefined;
  #origin: Origin | undefined;
  #transport: FetchTransport | undefined;
  #peer: EventPeer | undefined;
  #response: Response | undefined;
  #respond: ((response: Response) => void) | undefined;

  constructor(rules: Endpoint, request: Request, address: (() => string | undefined) | undefined) {
    this.#rules = rules;
    this.#request = request;
    this.#head = new FetchHead(request);
    this.#address = address;
  }

  async respond(): Promise<Response> {
    const route = this.#rules.route(this.#head, this.#request.url);
    switch (route.kind) {
      case "refuse":
        this.#rules.tellRefused(route.refusal);
        return this.#refusal(route.refusal);
      case "call":
        return this.#answer(route.text, true, "", route.known);
      case "resume":
      case "drop":
        return this.#recorded(route);
    }
    const body = await this.#body();
    if (!(body instanceof Uint8Array)) {
      this.#rules.tellRefused(body);
      return this.#refusal(body);
    }
    const text = decodeUtf8(body, 0, body.length);
    return text === undefined
      ? this.#json(200, this.#rules.service.answerer.unreadable(this.#newOrigin(undefined)))
      : this.#answer(text, route.plain);
  }

  openEvents(): EventSink | undefined {
    const { signal } = this.#request;
    const sink = new StreamSink(signal, this.#rules, (gone) => this.#peer?.detach(gone));
    this.#open(this.#events(sink));
    return signal.aborted ? undefined : sink;
  }

  abandon(): void {
    if (this.#origin !== undefined) {
      abandonCalls(this.#rules.service.running, this.#origin, connectionLost);
    }
  }

  async #body(): Promise<Uint8Array | Refusal> {
    const { maxMessageBytes } = this.#rules.service.limits;
    try {
      if (this.#head.contentLength === undefined) {
        const chunks = chunksOf(this.#request.body);
        return (await readBytes(chunks, maxMessageBytes)) ?? this.#rules.tooLarge;
      }
      const whole = new Uint8Array(await this.#request.arrayBuffer());
      return whole.length > maxMessageBytes ? this.#rules.tooLarge : whole;
    } catch {
      // The client left in the middle of its body, or somebody has read it before.
      return badRequest;
    }
  }

  /** `body` is what was sent, letter by letter. */
  #answer(text: string, plain: boolean, body = text, known = true): Response | Promise<Response> {
    const rules = this.#rules;
    const form = plain ? "events" : replyForm(this.#head.accept);
    if (form !== "json") this.#peer = rules.peer(this, plain ? "plain" : form, this.#head);
    const origin = this.#newOrigin(body);
    this.#origin = origin;
    this.#peer?.belongsTo(origin);
    const answer = rules.receive(text, origin, plain, known);
    if (!(answer instanceof Promise)) return this.#reply(answer, origin, form === "events");
    return new Promise((resolve) => {
      this.#respond = resolve;
      if (this.#response !== undefined) resolve(this.#response);
      else if (form === "events") this.#peer?.start();
      this.#later(answer, origin, form === "events");
    });
  }

  #newOrigin(body: string | undefined): Origin {
    const { limits } = this.#rules.service;
    this.#transport = new FetchTransport(this.#request, body, this.#address);
    return new Origin(this.#transport, this.#peer ?? unreachablePeer, limits);
  }

  #later(answer: Promise<string | undefined>, origin: Origin, asEvents: boolean): void {
    const { signal } = this.#request;
    const closed = (): void => {
      // A stream of events may be resumed, and knows itself what its end means.
      if (this.#peer?.started !== true) this.abandon();
    };
    if (signal.aborted) closed();
    else signal.addEventListener("abort", closed, { once: true });
    const settle = (text: string | undefined): void => {
      signal.removeEventListener("abort", closed);
      this.#open(this.#reply(text, origin, asEvents));
    };
    answer.then(settle, (error: unknown) => {
      this.#rules.service.log.error({ err: error }, "a call could not be answered");
      settle(errorText("2.0", "null", internalError));
    });
  }

  #open(response: Response): void {
    this.#response = response;
    this.#respond?.(response);
  }

  #reply(text: string | undefined, origin: Origin, asEvents: boolean): Response {
    const status = statusOf(origin.lastError);
    const peer = this.#peer;
    if (peer?.started === true || (asEvents && status === 200 && text !== undefined)) {
      peer?.finish(text, origin.streams !== undefined);
      return this.#response as Response;
    }
    peer?.dismiss();
    if (text === undefined) {
      const { replyHeaders: headers = {} } = origin;
      return this.#refusal({ status: this.#rules.noReplyStatus, body: "", headers });
    }
    return this.#json(status, text, replyHeaders(origin, status));
  }

  #json(status: number, text: string, more?: Readonly<Record<string, string>>): Response {
    const signature = this.#transport?.signature(status, text);
    const plain = more === undefined && signature === undefined;
    if (status === 200 && plain && this.#head.origin === undefined) {
      return new Response(text, jsonReply);
    }
    const headers = { ...jsonHeaders, ...more, ...signature, ...this.#rules.cors(this.#head) };
    try {
      return new Response(text, { status, headers });
    } catch (error) {
      this.#rules.service.log.error({ err: error }, "an error carries invalid headers");
      return new Response(text, { status, headers: jsonHeaders });
    }
  }

  #refusal({ status, body, headers }: Refusal): Response {
    if (body !== "") return this.#json(status, body, headers);
    const signature = this.#transport?.signature(status, body);
    return new Response(null, {
      status,
      headers: { ...headers, ...signature, ...this.#rules.cors(this.#head) },
    });
  }

  #events(sink: StreamSink): Response {
    return new Response(sink.body, {
      headers: { ...eventHeaders, ...this.#rules.cors(this.#head) },
    });
  }

  async #recorded(route: Extract<Route, { kind: "resume" | "drop" }>): Promise<Response> {
    const { recording, after } = route;
    const transport = new FetchTransport(this.#request, "", this.#address);
    const refusal = await this.#rules.refuseReader(recording, transport);
    if (refusal !== undefined) return this.#refusal(refusal);
    if (route.kind === "drop") {
      recording.abandon();
      return this.#refusal({ status: 204, body: "" });
    }
    // It may have come to its end while its owner was asked for.
    if (!recording.reaches(after)) return this.#refusal(streamGone);
    const { signal } = this.#request;
    const sink = new StreamSink(signal, this.#rules, (gone) => recording.peer?.detach(gone));
    if (!signal.aborted) recording.replay(after, sink);
    return this.#events(sink);
  }
}
