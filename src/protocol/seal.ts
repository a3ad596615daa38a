import type { ErrorObject, MaybePromise } from "./message.ts";
import type { Origin } from "./origin.ts";

/** Changes the texts of one connection on their way, such as by signing what leaves and checking what comes. */
export interface Seal {
  /** What is sent in place of a message. */
  seal(text: string): string;
  /** The message inside of what came, or why it is refused. May set the principal of the origin. */
  open(text: string, origin: Origin): MaybePromise<string | Unsealed>;
  /** Whether the other end would take a reply; one that cannot be meant for it alone is refused. @default true */
  readonly mayReply?: boolean;
}

/** Why a text was not opened. */
export interface Unsealed {
  readonly error: ErrorObject;
  /** The message that it claims to hold, to tell its sender which one was refused. */
  readonly message?: string | undefined;
}

/** Makes a seal for each connection, since its ends count their messages. */
export type SealMaker = () => Seal;

/** What an HTTP request is, for those who check a signature over it and sign its reply. */
export interface HttpRequestFacts {
  readonly method: string;
  /** The host and port that the client named. */
  readonly authority: string;
  /** Path and query as they came. */
  readonly target: string;
  /** The exact text of the body; undefined where somebody else has parsed it. */
  readonly body: string | undefined;
  /** Set by whoever verified the request: gives the headers that sign its reply. */
  signReply: ((status: number, body: string) => Readonly<Record<string, string>>) | undefined;
}

/** A request over HTTP that is about to leave. */
export interface OutgoingHttpRequest {
  readonly method: string;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A reply over HTTP, as it came. */
export interface IncomingHttpReply {
  readonly status: number;
  header(name: string): string | undefined;
  readonly body: string;
}

/** Signs what a link sends over HTTP, and checks what comes back. */
export interface HttpSigner {
  /** All headers to send: those of the request, and what signs them. */
  sign(request: OutgoingHttpRequest): MaybePromise<Readonly<Record<string, string>>>;
  /** Throws when the reply to these headers is not signed as it must be. */
  readonly check?:
    | ((reply: IncomingHttpReply, sent: Readonly<Record<string, string>>) => MaybePromise<void>)
    | undefined;
}
