import { utf8Length } from "../../framing/utf8.ts";
import { WireError } from "../../protocol/errors.ts";
import type { NatsConnection } from "./client-library.ts";

/** Longest message that the engine takes, which it says when a connection is made. */
export function maxBytesOf(connection: NatsConnection): number {
  return connection.info?.max_payload ?? 1024 * 1024;
}

export function fitsInto(maxBytes: number, text: string): boolean {
  return text.length * 3 <= maxBytes || (text.length <= maxBytes && utf8Length(text) <= maxBytes);
}

/** Whether the client refused to publish; headers count too, and only it knows how long they are. */
export function isRefusedByClient(error: unknown): boolean {
  return (error as Error).name === "InvalidArgumentError";
}

export function tooLarge(maxBytes: number, cause?: unknown): WireError {
  const sentence = `the message is longer than the ${maxBytes} bytes that NATS takes`;
  return new WireError("TOO_LARGE", sentence, { cause });
}
