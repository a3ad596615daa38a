import { utf8Length } from "../../framing/utf8.ts";
import type { Outgoing } from "./case.ts";
import type { Heard } from "./conformance-wire.ts";
import { isObject } from "./judge.ts";
import type { ConformanceFixtures } from "./payload.ts";

/** A conversation with one server, over whichever wire. */
export interface Talk {
  /** Sends, and waits until so many messages came, or something tells that they will not. */
  hear(send: Outgoing, wanted: number, timeoutMs: number): Promise<Heard>;
  /** Asks whether the server lives, on a connection of its own; undefined if it does. */
  lifeless(timeoutMs: number): Promise<Lifeless | undefined>;
  /** What was learned from the first sign of life, where it is worth a word. */
  readonly hint: string | undefined;
  /** Forgets what the last case may have left behind. */
  startAfresh(): void;
  close(): void;
}

/** A server that does not answer. */
export interface Lifeless {
  /** Whether it took the connection at least. */
  readonly connected: boolean;
  readonly reason: string;
}

export interface TalkSettings {
  readonly fixtures: ConformanceFixtures;
  readonly signal: AbortSignal;
  readonly meter: Meter;
}

/** Counts what is sent, and lets nothing pass that was not announced. */
export class Meter {
  messages = 0;
  bytes = 0;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  count(payload: string | Uint8Array): void {
    if (++this.messages > this.#most) throw new Error(`more than ${this.#most} messages to send`);
    this.bytes += typeof payload === "string" ? utf8Length(payload) : payload.length;
  }
}

/** Whether a message is a call or a notification of the server's own, which is not judged. */
export function isOwnCall(text: string): boolean {
  if (!text.includes('"method"')) return false;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && typeof value.method === "string";
  } catch {
    return false;
  }
}

export function reasonOf(thrown: unknown): string {
  const { cause } = (thrown ?? {}) as { cause?: unknown };
  if (cause instanceof Error && cause.message !== "") return cause.message;
  return thrown instanceof Error && thrown.message !== "" ? thrown.message : String(thrown);
}
