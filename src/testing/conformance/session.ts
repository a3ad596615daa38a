import { utf8Length } from "../../framing/utf8.ts";
import { isRecord } from "../../protocol/record.ts";
import type { Outgoing } from "./case.ts";
import type { Received } from "./conformance-wire.ts";
import type { ConformanceFixtures } from "./payload.ts";

/** The messages exchanged with one server, whatever the wire. */
export interface Session {
  /** Sends, and waits until `wanted` messages arrived or it is clear that they will not. */
  exchange(send: Outgoing, wanted: number, timeoutMs: number): Promise<Received>;
  /** Checks on a separate connection whether the server still answers; undefined if it does. */
  checkAlive(timeoutMs: number): Promise<Unresponsive | undefined>;
  /** A remark for the report about the first answer, such as a likely wrong path. */
  readonly hint: string | undefined;
  /** Discards what the previous case may have left behind. */
  reset(): void;
  close(): void;
}

/** A server that does not answer. */
export interface Unresponsive {
  /** Whether it accepted the connection. */
  readonly connected: boolean;
  readonly reason: string;
}

export interface SessionSettings {
  readonly fixtures: ConformanceFixtures;
  readonly signal: AbortSignal;
  readonly meter: Meter;
}

/** Counts what is sent, and throws above the number of messages that the plan announced. */
export class Meter {
  messages = 0;
  bytes = 0;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  count(payload: string | Uint8Array): void {
    if (++this.messages > this.#most)
      throw new Error(`the run would send more than the ${this.#most} messages it announced`);
    this.bytes += typeof payload === "string" ? utf8Length(payload) : payload.length;
  }
}

/** Whether a message is a call or notification made by the server, which is not checked. */
export function isOwnCall(text: string): boolean {
  if (!text.includes('"method"')) return false;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && typeof value.method === "string";
  } catch {
    return false;
  }
}

export function reasonOf(thrown: unknown): string {
  const { cause } = (thrown ?? {}) as { cause?: unknown };
  if (cause instanceof Error && cause.message !== "") return cause.message;
  return thrown instanceof Error && thrown.message !== "" ? thrown.message : String(thrown);
}
