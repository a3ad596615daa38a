import { WireError } from "../../protocol/errors.ts";
import type { NatsConnection } from "./client-library.ts";

/** Refuses a connection that cannot be used any more, in the words of this library. */
export function mustBeOpen(connection: NatsConnection): void {
  const state = connection.isClosed() ? "closed" : connection.isDraining() ? "closing" : undefined;
  if (state === undefined) return;
  throw new WireError("CONNECTION_FAILED", `the connection to NATS is ${state}`);
}
