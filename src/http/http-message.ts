import type { Clock } from "../protocol/clock.ts";
import type { WireBuffers } from "../protocol/memory-bounds.ts";
import type { Transport } from "../protocol/origin.ts";
import type { HeaderRecord } from "./client-exchange.ts";
import type { EventSink } from "./event-peer.ts";
import type { RequestHead } from "./request-head.ts";

/** One HTTP request and its response, as Node (`NodeMessage`) or `fetch` (`FetchMessage`) has them. */
export interface HttpMessage {
  readonly head: RequestHead;
  readonly url: string;
  /** Whether a response was begun, here or by other code such as a middleware that watches the time. */
  readonly isAnswered: boolean;
  /** Whether the client has disconnected. */
  readonly isGone: boolean;
  /** Reads the body, and hands it over after the earlier requests of the connection were answered. */
  read(reader: BodyReader): void;
  /** Runs what answers a request without a body, after the earlier requests of the connection were answered. */
  inTurn(run: () => void): void;
  /** `body` is exactly what was sent, if that is known. */
  transport(body: string | undefined): HttpTransport;
  /** Sends JSON, or no body if the text is empty; throws if a header is invalid. */
  send(status: number, text: string, headers: HeaderRecord | undefined): void;
  /** Sends a response while the body still arrives; its headers should close the connection. */
  sendEarly(status: number, text: string, headers: HeaderRecord | undefined): void;
  /** Begins a response of events; undefined if the client has gone. */
  openEvents(headers: HeaderRecord, closed: (sink: EventSink) => void): EventSink | undefined;
  /** Runs when the connection of the response closes, or soon if it has. */
  onClose(run: () => void): void;
  offClose(run: () => void): void;
}

/** Where a call came from, and what signs the reply to it. */
export interface HttpTransport extends Transport {
  /** The headers that sign a reply; undefined unless the request was verified. */
  signature(status: number, body: string): HeaderRecord | undefined;
}

/** Why a body was not read to its end. */
export type BodyFault = "too-large" | "overload" | "unreadable";

export interface BodyReader {
  /** The text is undefined if the bytes are not UTF-8; `isExact` says that it is exactly what was sent. */
  received(text: string | undefined, isExact: boolean): void;
  failed(fault: BodyFault): void;
}

/** What a message may take, in bytes and in time. */
export interface MessageLimits {
  readonly clock: Clock;
  readonly maxMessageBytes: number;
  /** Counts what all connections buffer. */
  readonly buffers: WireBuffers;
  /** How long a client may read nothing of what was sent to it; 0 waits for ever. */
  readonly writeTimeoutMs: number;
}
