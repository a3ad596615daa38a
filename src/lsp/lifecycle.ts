import { ErrorCode } from "../protocol/errors.ts";
import type { ErrorObject } from "../protocol/message.ts";
import { isRecord } from "../protocol/record.ts";
import { invalidParams } from "../protocol/standard-errors.ts";
import type { ConnectedClient } from "./connected-client.ts";
import { LspErrorCode } from "./errors.ts";
import type { InitializeParams } from "./model/structures.ts";
import { positionEncodings } from "./position-encoding.ts";

const notInitialized: ErrorObject = {
  code: LspErrorCode.ServerNotInitialized,
  message: "Server not initialized",
};
const initializedTwice: ErrorObject = {
  code: ErrorCode.InvalidRequest,
  message: "Server is already initialized",
};
const isShutDown: ErrorObject = {
  code: ErrorCode.InvalidRequest,
  message: "Server is shut down",
};

/** Why a message may not be handled now; undefined if it may. */
export function lifecycleError(
  { state }: ConnectedClient,
  method: string,
): ErrorObject | undefined {
  if (method === "exit") return undefined;
  if (state === "running") return method === "initialize" ? initializedTwice : undefined;
  if (state === "new") return method === "initialize" ? undefined : notInitialized;
  return state === "initializing" ? notInitialized : isShutDown;
}

/** The params of `initialize` as handlers may rely on them; a client that sends no capabilities has none. */
export function initializeParams(received: unknown): InitializeParams {
  if (!isRecord(received)) throw invalidParams("the params must be an object");
  const { capabilities } = received;
  if (isRecord(capabilities)) return received as unknown as InitializeParams;
  if (capabilities !== undefined && capabilities !== null) {
    throw invalidParams("/capabilities must be an object");
  }
  return { ...(received as unknown as InitializeParams), capabilities: {} };
}

/** Stores the client's params of `initialize`, and agrees on the encoding of positions. */
export function applyInitialize(
  client: ConnectedClient,
  params: InitializeParams,
  preferred: readonly string[],
): void {
  client.params = params;
  client.trace = params.trace ?? "off";
  const supported: unknown = params.capabilities.general?.positionEncodings;
  const agreed = Array.isArray(supported) && preferred.find((kind) => supported.includes(kind));
  client.encoding = positionEncodings[agreed || "utf-16"] ?? client.encoding;
}
