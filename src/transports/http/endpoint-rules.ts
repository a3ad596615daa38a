import { codingOf } from "../../http/content-coding.ts";
import { corsHeaders, preflightHeaders } from "../../http/cors.ts";
import {
  type EventHost,
  EventPeer,
  type EventSettings,
  messages,
  plainItems,
} from "../../http/event-peer.ts";
import { type MessageLimits, messageLimits, type RequestHead } from "../../http/http-message.ts";
import { isJsonType, isLinesType, type ReplyForm, replyForm } from "../../http/media-type.ts";
import { boundaryOf } from "../../http/multipart-reader.ts";
import {
  badRequest,
  busy,
  forbidden,
  methodNotAllowed,
  notAStream,
  type Refusal,
  refusal,
  refusedBy,
  streamGone,
  unmarkedUpload,
  unsupportedEncoding,
  unsupportedType,
} from "../../http/refusal.ts";
import { type Recording, type ReplayOptions, ReplayStore } from "../../http/replay.ts";
import type { Answer } from "../../protocol/answer.ts";
import { type Clock, longestDelayMs } from "../../protocol/clock.ts";
import { defaultKeepAliveMs, defaultWriteTimeoutMs } from "../../protocol/defaults.ts";
import type { EventForm } from "../../protocol/event-form.ts";
import { isRefusal } from "../../protocol/handle.ts";
import { HostCheck, type HostCheckOptions } from "../../protocol/host-check.ts";
import { limitOf } from "../../protocol/limits.ts";
import { type ErrorObject, isThenable, type MaybePromise } from "../../protocol/message.ts";
import type { Origin, Principal, Transport } from "../../protocol/origin.ts";
import { errorText } from "../../protocol/reply-text.ts";
import type { Service } from "../../protocol/service.ts";
import { invalidRequest } from "../../protocol/standard-errors.ts";
import { callFromQuery } from "./stream-query.ts";

export interface HttpOptions extends HostCheckOptions {
  /** The status of an answer without a reply. @default 204 */
  readonly noReplyStatus?: 200 | 202 | 204;
  /** Interval of keep-alive comments on a silent event stream; proxies close streams that are silent for long. @default 15000 */
  readonly keepAliveMs?: number;
  /** How long a call runs on after its event stream was cut, so that the client can resume it. @default 10000 */
  readonly graceMs?: number;
  /**
   * How long the client of an event stream, or of a large reply in Node, may read nothing before it is disconnected;
   * stops clients that never read. 0 waits forever. @default 10000
   */
  readonly writeTimeoutMs?: number;
  /** What is kept of event streams, so that clients can resume them; false sends them without ids. @default see `ReplayOptions` */
  readonly replay?: ReplayOptions | false;
  /**
   * Compresses replies of at least 1,024 characters for clients that accept `gzip` or, in Node, `br` or `zstd`, and in
   * Node event streams with `gzip`. Turn it off behind a proxy that compresses. Methods opt out with `compress: false`.
   * @default true
   */
  readonly compress?: boolean;
  /** For tests. @default the clock of the service */
  readonly clock?: Clock;
}

/** What is done with a request. */
export type Route =
  | { readonly kind: "refuse"; readonly refusal: Refusal }
  /** Its body is a payload. */
  | { readonly kind: "read" }
  /** Its body is a call and what it uploads, a message in each line. */
  | { readonly kind: "lines" }
  /** The first part of its body is a payload, and the others are read while its calls run. */
  | { readonly kind: "parts"; readonly boundary: string }
  /** The call is in the URL. */
  | { readonly kind: "call"; readonly text: string; readonly known: boolean }
  /** It resumes a stream that another request began. */
  | ({ readonly kind: "resume" } & Recorded)
  /** It ends the stream of another request, together with its call. */
  | ({ readonly kind: "drop" } & Recorded);

interface Recorded {
  readonly recording: Recording;
  /** The number of the last event that the client has. */
  readonly after: number;
}

const batchRefused = errorText("2.0", "null", invalidRequest("a stream is started by one request"));

const readBody: Route = { kind: "read" };
const readLines: Route = { kind: "lines" };
const refuseBusy: Route = { kind: "refuse", refusal: busy };
const refuseCoding: Route = { kind: "refuse", refusal: unsupportedEncoding([]) };
const refuseType: Route = { kind: "refuse", refusal: unsupportedType };

/**
 * Browsers send forms of other sites without asking first. Their Origin is checked; a header that no form has makes
 * sure of it, also for browsers that send no Origin.
 */
const refuseUnmarked: Route = { kind: "refuse", refusal: unmarkedUpload };

/** Decides what is done with requests for one service, on every platform. */
export class EndpointRules {
  readonly service: Service;
  readonly noReplyStatus: 200 | 202 | 204;
  readonly compresses: boolean;
  readonly limits: MessageLimits;
  readonly tooLarge: Refusal;
  readonly #access: HostCheck;
  readonly #refuseType: Route;
  readonly #events: EventSettings;
  readonly #replay: ReplayStore | undefined;

  /** `bound` is the address that the server listens on, if it is a single one. */
  constructor(service: Service, options: HttpOptions, bound?: string) {
    const { clock = service.running.clock } = options;
    this.service = service;
    const { unsupportedType: wrongType } = service;
    this.#refuseType = wrongType
      ? { kind: "refuse", refusal: refusal(415, wrongType) }
      : refuseType;
    this.noReplyStatus = options.noReplyStatus ?? 204;
    this.compresses = options.compress !== false;
    const { writeTimeoutMs = defaultWriteTimeoutMs } = options;
    // As in Node, 0 means no limit.
    if (writeTimeoutMs !== 0) limitOf("writeTimeoutMs", writeTimeoutMs);
    this.limits = messageLimits(service, Math.min(writeTimeoutMs, longestDelayMs), clock);
    this.#access = new HostCheck(service, options, bound);
    this.#events = {
      clock,
      keepAliveMs: options.keepAliveMs ?? defaultKeepAliveMs,
      graceMs: options.graceMs ?? 10_000,
      maxBufferedBytes: service.limits.maxBufferedBytes,
      buffers: service.running.buffers,
    };
    this.#replay = options.replay === false ? undefined : new ReplayStore(clock, options.replay);
    this.tooLarge = {
      status: 413,
      body: service.answerer.tooLarge(),
      headers: { connection: "close" },
    };
  }

  /** Decides by everything that comes before the body. */
  route(head: RequestHead, url: string): Route {
    const refused = this.refuse(head);
    switch (head.method) {
      case "POST": {
        if (refused !== undefined) return { kind: "refuse", refusal: refused };
        if (this.service.answerer.settings.overload?.refuses()) return refuseBusy;
        if (isJsonType(head.contentType)) {
          return Number(head.contentLength ?? 0) > this.service.limits.maxMessageBytes
            ? { kind: "refuse", refusal: this.tooLarge }
            : readBody;
        }
        if (isLinesType(head.contentType)) {
          return codingOf(head.contentEncoding) === undefined ? readLines : refuseCoding;
        }
        const boundary = boundaryOf(head.contentType);
        if (boundary === undefined) return this.#refuseType;
        return head.get("rpc-attachments") === undefined
          ? refuseUnmarked
          : { kind: "parts", boundary };
      }
      case "OPTIONS":
        return { kind: "refuse", refusal: this.#preflight(head) };
    }
    if (refused !== undefined) return { kind: "refuse", refusal: refused };
    switch (head.method) {
      case "GET":
        return this.#routeGet(head, url);
      case "DELETE":
        if (head.get("last-event-id") !== undefined) return this.#routeDelete(head);
    }
    return { kind: "refuse", refusal: methodNotAllowed };
  }

  /** Headers for pages of listed origins; undefined for all others. */
  cors(head: RequestHead): Record<string, string> | undefined {
    return this.#access.allows(head.origin) ? corsHeaders(head.origin) : undefined;
  }

  /** A caller that may receive events before its reply. Only clients that take nothing but events can resume. */
  peer(host: EventHost, form: ReplyForm | "plain" | EventForm, head: RequestHead): EventPeer {
    if (typeof form === "object") return new EventPeer(host, form, this.#events);
    if (form === "plain") return new EventPeer(host, plainItems, this.#events);
    if (form !== "events") return new EventPeer(host, messages, this.#events);
    return new EventPeer(host, messages, this.#events, () =>
      this.#replay?.record(head.get("authorization")),
    );
  }

  /** Whether streams have the plain form at this URL: `/rpc/stream`, with a query or without. */
  isPlainStream(url: string): boolean {
    const query = url.indexOf("?");
    return query === -1 ? url.endsWith("/stream") : url.endsWith("/stream", query);
  }

  /** Answers a call of the plain form, which cannot carry batches; a method that is not `known` does not exist. */
  receivePlain(text: string, origin: Origin, known: boolean): Answer {
    if (!known) return this.service.answerUnknown?.(text, origin);
    return /^\s*\[/.test(text) ? batchRefused : this.service.receive(text, origin);
  }

  /** Refuses a request for its Host or Origin, whatever it asks for. */
  refuse(head: RequestHead): Refusal | undefined {
    if (head.isAmbiguous) return badRequest;
    const sentence = this.#access.refusal(head);
    return sentence === undefined ? undefined : forbidden(sentence);
  }

  /** The same for pages and files: other sites may link here, but their scripts may not call. */
  refuseVisitor(head: RequestHead): Refusal | undefined {
    const { method, host, origin, isAmbiguous } = head;
    if (method !== "GET" && method !== "HEAD") return this.refuse(head);
    if (isAmbiguous) return badRequest;
    const sentence = this.#access.refusal({ host, origin, site: undefined });
    return sentence === undefined ? undefined : forbidden(sentence);
  }

  /** Refuses to resume a stream of another principal: an event id is not a credential. */
  refuseReader(recording: Recording, transport: Transport): MaybePromise<Refusal | undefined> {
    const judge = (decision: Principal | ErrorObject | undefined): Refusal | undefined => {
      if (isRefusal(decision)) return refusedBy(decision);
      return decision?.id === recording.owner ? undefined : streamGone;
    };
    if (this.service.admit === undefined) return undefined;
    const decision = this.service.admit(transport);
    return isThenable(decision) ? decision.then(judge) : judge(decision);
  }

  /** The response to OPTIONS. */
  #preflight(head: RequestHead): Refusal {
    const { origin } = head;
    const allow = { allow: "POST, OPTIONS" };
    const headers = this.#access.allows(origin)
      ? { ...allow, ...preflightHeaders(origin, head.get("access-control-request-headers")) }
      : allow;
    return { status: 204, body: "", headers };
  }

  #routeGet(head: RequestHead, url: string): Route {
    if (this.isPlainStream(url)) {
      // Not parsed as a URL, which may be invalid.
      const mark = url.indexOf("?");
      const query = mark === -1 ? "" : url.slice(mark);
      const call = callFromQuery(new URLSearchParams(query));
      if ("fault" in call) {
        return { kind: "refuse", refusal: refusal(400, invalidRequest(call.fault)) };
      }
      // Any page can make a browser send a GET, so it must not reach methods with effects.
      const known = this.service.isStream?.(call.method) === true;
      // A method that is hidden from the caller must answer like one that does not exist.
      return known || this.service.hides === true
        ? { kind: "call", text: call.text, known }
        : { kind: "refuse", refusal: notAStream };
    }
    if (head.get("last-event-id") === undefined || replyForm(head.accept) === "json") {
      return { kind: "refuse", refusal: methodNotAllowed };
    }
    const found = this.#recorded(head);
    // A client that missed more than is kept cannot resume.
    return found?.recording.reaches(found.after)
      ? { kind: "resume", ...found }
      : { kind: "refuse", refusal: streamGone };
  }

  #routeDelete(head: RequestHead): Route {
    // Also if the client is too far behind to resume.
    const found = this.#recorded(head);
    return found === undefined
      ? { kind: "refuse", refusal: streamGone }
      : { kind: "drop", ...found };
  }

  #recorded(head: RequestHead): Recorded | undefined {
    const id = head.get("last-event-id");
    return id === undefined ? undefined : this.#replay?.find(id, head.get("authorization"));
  }
}
