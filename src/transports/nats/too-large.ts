import { WireError } from "../../protocol/errors.ts";
import type { NatsConnection } from "./client-library.ts";

/** Longest message that the engine takes. */
export function maxBytesOf({ info }: NatsConnection): number {
  return info?.max_payload ?? 1024 * 1024;
}

export function tooLarge(connection: NatsConnection, cause?: unknown): WireError {
  const sentence = `the message is longer than the ${maxBytesOf(connection)} bytes that NATS takes`;
  return new WireError("TOO_LARGE", sentence, { cause });
}

/** Headers count too, and only the client of NATS knows how long they are. */
export function saysTooLarge(error: unknown): boolean {
  const { name, message } = error as Error;
  return name === "InvalidArgumentError" && message.includes("max_payload");
}
