import type { WireAbility } from "./case.ts";

/** A way to a server on which anything can be sent, right or wrong. */
export type ConformanceWire = LineWire | ExchangeWire;

interface Wire {
  /** What people call it, such as `WebSocket`. */
  readonly name: string;
  readonly address: string;
  readonly abilities: ReadonlySet<WireAbility>;
}

/** A wire with connections: each brings messages whenever it likes. */
export interface LineWire extends Wire {
  readonly kind: "line";
  /** Whether each line is a server of its own, as a child process is. Lines are then used again and again. */
  readonly ownsServer?: boolean;
  /** Makes a new connection; rejects when there is none to be had. */
  open(listener: LineListener, signal: AbortSignal): Promise<Line>;
  /** Tries a handshake with these headers; resolves when the server took it, rejects when it did not. */
  handshake?(headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void>;
}

export interface LineListener {
  message(text: string): void;
  /** Nothing more comes; `crashed` when the server itself ended and did not mean to. */
  end(reason: string, crashed?: boolean): void;
}

/** One connection. Sending never throws; what goes wrong is told as its end. */
export interface Line {
  /** Sends one message as this wire does; bytes need not be UTF-8. */
  send(message: string | Uint8Array): void;
  /** One message as the bytes that the wire would send, where it is a stream of bytes. */
  encode?(message: string): Uint8Array;
  /** Writes bytes, where it is a stream of them. */
  write?(bytes: Uint8Array): void;
  /** Sends a WebSocket message in this form. */
  frame?(text: string, form: "binary" | "fragments"): void;
  close(): void;
}

/** HTTP: one request, one answer. */
export interface ExchangeWire extends Wire {
  readonly kind: "exchange";
  /** Sends a request; rejects when no answer came. */
  exchange(request: ExchangeRequest, signal: AbortSignal): Promise<ExchangeAnswer>;
  /** Writes bytes to a connection of their own, and reads until so many answers came or it is closed. */
  raw?(bytes: Uint8Array, answers: number, signal: AbortSignal): Promise<readonly ExchangeAnswer[]>;
  /** What stands for `{host}`, `{path}` and `{headers}` in a raw request. */
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

/** What came back. */
export interface Heard {
  readonly messages: readonly string[];
  readonly http?: Pick<ExchangeAnswer, "status" | "headers">;
  /** Why the connection ended, if the other end closed it. */
  readonly ended?: string;
  readonly crashed?: boolean;
  /** Time ran out before all came that was waited for. */
  readonly timedOut: boolean;
  /** The connection took a message and then answered nothing more. */
  readonly stuck?: boolean;
  /** The server took the handshake. */
  readonly taken?: boolean;
}

/** Whether a name in a URL means this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(hostname);
}
