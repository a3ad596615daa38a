import { RpcError, type RpcErrorOptions } from "../protocol/errors.ts";
import type { ErrorObject } from "../protocol/message.ts";
import type { ClientCapabilities } from "./capabilities.ts";
import { revisions } from "./revisions.ts";

/** Error codes that MCP adds to those of JSON-RPC. */
export const McpErrorCode = {
  /** Until 2025-11-25; since then it is Invalid params. */
  ResourceNotFound: -32002,
  SessionNotFound: -32001,
  /** A legacy HTTP request that the server cannot accept. */
  BadRequest: -32000,
  UrlElicitationRequired: -32042,
  HeaderMismatch: -32020,
  MissingCapability: -32021,
  UnsupportedRevision: -32022,
  UserRejected: -1,
} as const;

/**
 * A protocol error. A tool that throws it fails the request itself; the model sees every other error
 * of a tool as the result of its call.
 * @example
 * ```ts
 * import { McpError, McpErrorCode, tool } from "callwire/mcp";
 *
 * const report = tool({ description: "Reads a report" }, () => {
 *   throw new McpError(McpErrorCode.ResourceNotFound, "There is no such report", { id: "7" });
 * });
 * ```
 */
export class McpError<Code extends number = number, Data = unknown> extends RpcError<Code, Data> {
  constructor(code: Code, message: string, data?: Data, options: RpcErrorOptions = {}) {
    super(code, message, data, options);
    this.name = "McpError";
  }
}

export function invalidArguments(sentence: string, data?: unknown): McpError {
  return new McpError(-32602, sentence, data);
}

/** The client did not declare a capability that this request requires. */
export function missingCapability(required: ClientCapabilities): McpError {
  return new McpError(
    McpErrorCode.MissingCapability,
    `the client did not declare the capability ${capabilityIn(required)}`,
    { requiredCapabilities: required },
    { status: 400 },
  );
}

/** The capability for an error message: `elicitation`, or `elicitation.url`. */
export function capabilityIn(required: ClientCapabilities): string {
  const names = Object.entries(required).map(([name, parts]) => {
    // The bare name means forms.
    const part = Object.keys(parts).find((each) => each !== "form");
    return part === undefined ? name : `${name}.${part}`;
  });
  return names.join(", ");
}

export function unsupportedRevision(requested: unknown): McpError {
  return new McpError(
    McpErrorCode.UnsupportedRevision,
    "Unsupported protocol version",
    { supported: revisions, requested },
    { status: 400 },
  );
}

export function headerMismatch(sentence: string): McpError {
  return new McpError(McpErrorCode.HeaderMismatch, sentence, undefined, { status: 400 });
}

/** The error of a reply as an `Error`, with the status and headers that middleware set. */
export function errorOf(error: ErrorObject): Error {
  return error instanceof Error
    ? error
    : new RpcError(error.code, error.message, error.data, error as RpcErrorOptions);
}
