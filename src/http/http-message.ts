import type { Clock } from "../protocol/clock.ts";
import { defaultWriteTimeoutMs } from "../protocol/defaults.ts";
import type { WireBuffers } from "../protocol/memory-bounds.ts";
import type { PeerCertificate, Transport } from "../protocol/origin.ts";
import type { Service } from "../protocol/service.ts";
import type { HeaderRecord } from "./client-exchange.ts";
import type { Coding, SentBody } from "./content-coding.ts";
import type { EventSink, EventSource } from "./event-peer.ts";
import type { ByteSource } from "./multipart-reader.ts";
import type { UploadBody } from "./upload-body.ts";

/** What a request says before its body; header values as they arrived. */
export interface RequestHead {
  readonly method: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`, which browsers send. */
  readonly site: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly contentLength: string | undefined;
  readonly accept: string | undefined;
  /** Whether a header that must be unique is repeated. */
  readonly isAmbiguous: boolean;
  /** Any header by its name in lower case; the values of a repeated one are joined by ", ". */
  get(name: string): string | undefined;
}

/** One HTTP request and its response, as Node (`NodeMessage`) or `fetch` (`FetchMessage`) has them. */
export interface HttpMessage {
  readonly head: RequestHead;
  readonly url: string;
  /** The codings of bodies that the platform can read and write, the preferred one first. */
  readonly codings: readonly Coding[];
  /** All headers, by their names in lower case. */
  readonly headers: Transport["headers"];
  /** Path and query as the client sent them. */
  readonly target: string;
  /** Identifies the connection, if the platform shows it. */
  readonly connection: object | undefined;
  readonly remoteAddress: string | undefined;
  /** The client's certificate, if the connection is TLS and asked for it. */
  readonly certificate: PeerCertificate | undefined;
  /** Whether a response was begun, here or by other code such as a middleware that watches the time. */
  readonly isAnswered: boolean;
  /** Whether the client has disconnected. */
  readonly isGone: boolean;
  /** Reads the body, and hands it over after the earlier requests of the connection were answered. */
  read(reader: BodyReader): void;
  /** Reads a body of lines as it arrives. */
  readLines(body: UploadBody): void;
  /** Opens the body, to be read while the request is answered; gives the fault if that is not possible. */
  openBody(): ByteSource | BodyFault;
  /** The rest of the body arrives while its call runs, for as long as that takes. */
  allowLateBody(): void;
  /**
   * Runs what answers a request after the earlier requests of the connection were answered. `length` characters that were
   * read of its body are kept until then.
   */
  inTurn(run: () => void, length?: number): void;
  /** Sends JSON, compressed if there is a coding, or no body if the text is empty; throws if a header is invalid. */
  send(status: number, text: string, headers: HeaderRecord | undefined, coding?: Coding): void;
  /**
   * Sends bytes as fast as the client reads them; cancels them if it disconnects. `held` of them are in memory until they
   * are sent.
   */
  sendStream(
    status: number,
    bytes: ReadableStream<Uint8Array>,
    headers: HeaderRecord,
    held: number,
  ): void;
  /** Sends a response while the body still arrives; its headers should close the connection. */
  sendEarly(status: number, text: string, headers: HeaderRecord | undefined): void;
  /** Whether it can compress events so that each can be read when it arrives. */
  readonly compressesEvents: boolean;
  /** Begins a response of events, compressed if there is a source; undefined if the client has disconnected. */
  openEvents(
    headers: HeaderRecord,
    closed: (sink: EventSink) => void,
    source?: EventSource,
  ): EventSink | undefined;
  /** Runs when the connection of the response closes, or soon if it has. */
  onClose(run: () => void): void;
  offClose(run: () => void): void;
}

/** Why a body was not read to its end. */
export type BodyFault =
  | "too-large"
  | "overload"
  | "unreadable"
  | "consumed"
  | "encoded"
  | "malformed";

export interface BodyReader {
  /** The text is undefined if the bytes are not UTF-8; `sent` is the body exactly as it was sent, if that is known. */
  received(text: string | undefined, sent: SentBody | undefined): void;
  failed(fault: BodyFault): void;
}

/** What a message may take, in bytes and in time. */
export interface MessageLimits {
  readonly clock: Clock;
  readonly maxMessageBytes: number;
  /** Counts what all connections buffer. */
  readonly buffers: WireBuffers;
  /** How long a client may read nothing of what was sent to it; 0 waits forever. */
  readonly writeTimeoutMs: number;
}

export function messageLimits(
  { limits, running }: Pick<Service, "limits" | "running">,
  writeTimeoutMs: number = defaultWriteTimeoutMs,
  clock: Clock = running.clock,
): MessageLimits {
  const { maxMessageBytes } = limits;
  return { clock, maxMessageBytes, buffers: running.buffers, writeTimeoutMs };
}
