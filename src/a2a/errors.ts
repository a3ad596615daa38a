import { ErrorCode, RpcError } from "../protocol/errors.ts";

/** The errors of A2A, with their codes. */
export const A2aErrorCode = {
  TaskNotFound: -32001,
  TaskNotCancelable: -32002,
  PushNotificationNotSupported: -32003,
  UnsupportedOperation: -32004,
  ContentTypeNotSupported: -32005,
  InvalidAgentResponse: -32006,
  ExtendedAgentCardNotConfigured: -32007,
  ExtensionSupportRequired: -32008,
  VersionNotSupported: -32009,
} as const;

export type A2aErrorName = keyof typeof A2aErrorCode;

const errorInfo = "type.googleapis.com/google.rpc.ErrorInfo";
const badRequest = "type.googleapis.com/google.rpc.BadRequest";

/**
 * An error of A2A; its data names the reason, so that clients need not know the code.
 * @example
 * ```ts
 * import { a2aAgent, a2aError } from "callwire/a2a";
 *
 * const agent = a2aAgent({
 *   card: { name: "Parrot", description: "Repeats what it is told" },
 *   execute(message) {
 *     if (message.text === "") throw a2aError("ContentTypeNotSupported", "The parrot only hears text");
 *     return message.text;
 *   },
 * });
 * ```
 */
export function a2aError(
  name: A2aErrorName,
  message: string,
  metadata?: Readonly<Record<string, string>>,
): RpcError {
  const reason = name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
  const info = { "@type": errorInfo, reason, domain: "a2a-protocol.org" };
  return new RpcError(A2aErrorCode[name], message, [
    metadata === undefined ? info : { ...info, metadata },
  ]);
}

/** The error for params that are not what A2A requires; `field` is a path such as `message.parts[0]`. */
export function invalidField(field: string, description: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${field} ${description}`, [
    { "@type": badRequest, fieldViolations: [{ field, description }] },
  ]);
}

export function taskNotFound(id: string): RpcError {
  return a2aError("TaskNotFound", "There is no such task", { taskId: id });
}
