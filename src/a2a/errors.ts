import { membersOf } from "../protocol/envelope.ts";
import { ErrorCode, RpcError } from "../protocol/errors.ts";
import type { ErrorObject } from "../protocol/message.ts";

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
  const info = { "@type": errorInfo, reason: upperSnake(name), domain: "a2a-protocol.org" };
  return new RpcError(A2aErrorCode[name], message, [
    metadata === undefined ? info : { ...info, metadata },
  ]);
}

/** "TaskNotFound" is "TASK_NOT_FOUND". */
function upperSnake(name: string): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

/** The error for params that are not what A2A requires; `field` is a path such as `message.parts[0]`. */
export function invalidField(field: string, description: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, `Invalid params: ${field} ${description}`, [
    { "@type": badRequest, fieldViolations: [{ field, description }] },
  ]);
}

/** The names of the codes that are not of A2A. */
const reasons = new Map<number, string>(
  Object.entries(ErrorCode).map(([name, code]) => [code, upperSnake(name)]),
);

/** A code of JSON-RPC for other errors, which A2A does not use. */
const otherError = -32000;
const ownInfo = { "@type": errorInfo, domain: "callwire" };

/** Errors as A2A has them: the data is an array, and our own codes, which mean something else there, become reasons. */
export function sentError(error: ErrorObject): ErrorObject {
  const { code, message, data } = error;
  const reason = reasons.get(code);
  if (reason === undefined || Array.isArray(data)) return error;
  // A2A reserves these for itself.
  const isFree = code > -32001 || code < -32099;
  if (isFree && data === undefined) return error;
  return {
    code: isFree ? code : otherError,
    message,
    data: [{ ...ownInfo, reason, ...facts(data) }],
  };
}

/** Whether an agent of callwire has no room now, for a call or for the events of a slow reader. */
export function isBusy({ code, data }: RpcError): boolean {
  const [info] = Array.isArray(data) ? (data as unknown[]) : [];
  return code === otherError && membersOf(info).reason === reasons.get(ErrorCode.ServerBusy);
}

/** The facts of an error as strings, because the metadata of an `ErrorInfo` can have no others. */
function facts(data: unknown): { readonly metadata?: Readonly<Record<string, string>> } {
  if (data === undefined) return {};
  const members = typeof data === "object" && data !== null ? data : { details: data };
  const entries = Object.entries(members).map(([name, value]) => [
    name,
    typeof value === "object" ? JSON.stringify(value) : String(value),
  ]);
  return { metadata: Object.fromEntries(entries) };
}

export function taskNotFound(id: string): RpcError {
  return a2aError("TaskNotFound", "There is no such task", { taskId: id });
}
