import type { ErrorObject, MaybePromise } from "./message.ts";
import type { Origin } from "./origin.ts";

/** Transforms the messages of one connection, for example signs outgoing and verifies incoming ones. */
export interface Seal {
  /** The string to send instead of a message. */
  seal(text: string): string;
  /** The message in what was received, or why it is refused. May set the principal of the origin. */
  open(text: string, origin: Origin): MaybePromise<string | Unsealed>;
  /** Whether the peer would accept a reply; it refuses one that is not addressed to it alone. @default true */
  readonly mayReply?: boolean;
}

/** Why a received string was refused. */
export interface Unsealed {
  readonly error: ErrorObject;
  /** The message that it claims to hold, so that the refusal can name the call. */
  readonly message?: string | undefined;
}

/** Makes a seal for each connection, because both sides count their messages. */
export type SealMaker = () => Seal;

/** An HTTP request, for verifying its signature and signing its reply. */
export interface HttpRequestFacts {
  readonly method: string;
  /** Host and port as the client sent them. */
  readonly authority: string;
  /** Path and query as received. */
  readonly target: string;
  /** The body as received, in bytes if it was compressed; undefined if another program has parsed it. */
  readonly body: string | Uint8Array | undefined;
  /** Set when the request was verified: returns the headers that sign its reply. */
  signReply: ((status: number, body: string) => Readonly<Record<string, string>>) | undefined;
}

/** An HTTP request about to be sent. */
export interface OutgoingHttpRequest {
  readonly method: string;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** As it is sent: bytes if it is compressed. */
  readonly body: string | Uint8Array;
}

/** An HTTP response as received. */
export interface IncomingHttpReply {
  readonly status: number;
  header(name: string): string | undefined;
  readonly body: string;
}

/** Signs the HTTP requests of a link, and verifies the responses. */
export interface HttpSigner {
  /** All headers to send: those of the request, and the signature. */
  sign(request: OutgoingHttpRequest): MaybePromise<Readonly<Record<string, string>>>;
  /** Throws if the response to these headers is not signed correctly. */
  readonly check?:
    | ((reply: IncomingHttpReply, sent: Readonly<Record<string, string>>) => MaybePromise<void>)
    | undefined;
}
