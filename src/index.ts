/** JSON-RPC for TypeScript: typed methods served over any wire, called by a typed client. @module callwire */
export { type BatchingOptions, batching } from "./client/batching.ts";
export { type Client, type ClientOptions, createClient } from "./client/client.ts";
export type {
  Api,
  CallResult,
  NamedCall,
  OptionalCall,
  StreamResult,
  UntypedApi,
} from "./client/contract.ts";
export { contractOptions } from "./client/contract-options.ts";
export { fallback } from "./client/fallback.ts";
export type { CallOptions } from "./client/outgoing-call.ts";
export { type RetryOptions, retry } from "./client/retry.ts";
export { type Settled, safe } from "./client/safe.ts";
export type { Answer } from "./protocol/answer.ts";
export type { Attachments } from "./protocol/attachments.ts";
export { byteStream, bytes } from "./protocol/byte-schemas.ts";
export { type Clock, systemClock, type Timer } from "./protocol/clock.ts";
export { consoleLog } from "./protocol/console-log.ts";
export type { Context } from "./protocol/context.ts";
export {
  type DeclaredErrors,
  defineErrors,
  type ErrorDefinition,
  type ErrorDefinitions,
  type MethodDefinition,
  type MethodLimits,
  type StreamDefinition,
  type StreamOf,
} from "./protocol/contract.ts";
export type { CredentialSource, Credentials } from "./protocol/credentials.ts";
export { defaultDrainMs } from "./protocol/defaults.ts";
export { type DirectCaller, directLink } from "./protocol/direct-link.ts";
export {
  ErrorCode,
  isRpcError,
  RemoteError,
  RpcError,
  type RpcErrorOptions,
  WireError,
  type WireErrorCode,
} from "./protocol/errors.ts";
export { exchangeLink } from "./protocol/exchange.ts";
export type {
  CallFailure,
  FailureData,
  FailureReason,
  LimitExceeded,
} from "./protocol/failure-data.ts";
export { compose, type Handle, type Middleware } from "./protocol/handle.ts";
export { type CloseOptions, Host, type HostOptions } from "./protocol/host.ts";
export type { Unsendable, Values } from "./protocol/json-value.ts";
export { defaultLimits, type Limits } from "./protocol/limits.ts";
export type { Link, LinkState, LinkStates, Outgoing, UploadProgress } from "./protocol/link.ts";
export { type Log, silentLog } from "./protocol/log.ts";
export {
  type ErrorObject,
  failure,
  type Id,
  type Params,
  type Reply,
  type Request,
  success,
  type TypedPaths,
} from "./protocol/message.ts";
export { Origin, type Peer, type Principal, type Transport } from "./protocol/origin.ts";
export type { OverloadOptions } from "./protocol/overload.ts";
export type { Version } from "./protocol/parse.ts";
export { printable, printableLines } from "./protocol/printable.ts";
export type { Service } from "./protocol/service.ts";
export type { EndedSession } from "./protocol/session-reports.ts";
export { cutShort, invalidParams } from "./protocol/standard-errors.ts";
export type { Schema } from "./protocol/standard-schema.ts";
export type { Tap } from "./protocol/tap.ts";
export type { AnyValueType, ValueType } from "./protocol/value-types.ts";
export type { DiscoverOptions } from "./server/discover.ts";
export {
  implement,
  type Method,
  type MethodHandler,
  type Methods,
  type MethodTypes,
  method,
  type StreamHandler,
  type StreamTypes,
  stream,
} from "./server/method.ts";
export { type ContextMethods, type ContextSource, withContext } from "./server/method-context.ts";
export { createServer, type Server, type ServerOptions } from "./server/server.ts";
export { type Topic, type TopicOptions, topic } from "./server/topic.ts";
