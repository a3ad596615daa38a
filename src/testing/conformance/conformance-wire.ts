import type { WireAbility } from "./case.ts";

/** A way to send a server anything, valid or not. */
export type ConformanceWire = LineWire | ExchangeWire;

interface Wire {
  /** The name used in reports, such as `WebSocket`. */
  readonly name: string;
  readonly address: string;
  readonly abilities: ReadonlySet<WireAbility>;
}

/** A wire with connections, on which messages may arrive at any time. */
export interface LineWire extends Wire {
  readonly kind: "line";
  /** Whether each connection starts a server, as a child process does. Connections are then reused. @default false */
  readonly ownsServer?: boolean;
  /** Opens a connection; rejects if that fails. */
  open(listener: LineListener, signal: AbortSignal): Promise<Line>;
  /** Tries a handshake with these headers; resolves if the server accepts it, otherwise rejects. */
  handshake?(headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void>;
}

export interface LineListener {
  message(text: string): void;
  /** The connection ended; `crashed` if the server process exited with a failure. */
  end(reason: string, crashed?: boolean): void;
}

/** One connection. Sending never throws; failures are reported to `end` of the listener. */
export interface Line {
  /** Sends one message in the framing of this wire; bytes need not be UTF-8. */
  send(message: string | Uint8Array): void;
  /** The bytes of one message, if the wire is a byte stream. */
  encode?(message: string): Uint8Array;
  /** Writes raw bytes, if the wire is a byte stream. */
  write?(bytes: Uint8Array): void;
  /** Sends a binary or fragmented WebSocket message. */
  frame?(text: string, form: "binary" | "fragments"): void;
  close(): void;
}

/** HTTP: each request has one response. */
export interface ExchangeWire extends Wire {
  readonly kind: "exchange";
  /** Sends a request; rejects if there is no response. */
  exchange(request: ExchangeRequest, signal: AbortSignal): Promise<ExchangeAnswer>;
  /** Writes bytes to a new connection, and reads until this number of responses arrived or it closes. */
  raw?(bytes: Uint8Array, answers: number, signal: AbortSignal): Promise<readonly ExchangeAnswer[]>;
  /** Values for `{host}`, `{path}` and `{headers}` in a raw request. */
  readonly places?: Readonly<Record<"host" | "path" | "headers", string>>;
}

export interface ExchangeRequest {
  readonly verb: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

export interface ExchangeAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What the server answered. */
export interface Received {
  readonly messages: readonly string[];
  readonly http?: Pick<ExchangeAnswer, "status" | "headers">;
  /** Why the connection ended, if the server closed it. */
  readonly ended?: string;
  readonly crashed?: boolean;
  /** The timeout passed before all expected messages arrived. */
  readonly timedOut: boolean;
  /** The connection stopped answering after this message. */
  readonly stuck?: boolean;
  /** The server accepted the handshake. */
  readonly taken?: boolean;
}

/** Whether the host name of a URL is this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(hostname);
}
