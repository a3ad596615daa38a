import type { MaybePromise } from "../protocol/message.ts";
import type { LspCall } from "./lsp-call.ts";
import type {
  ClientNotifications,
  ClientRequests,
  ServerNotifications,
  ServerRequests,
} from "./model/messages.ts";
import type { InitializeParams, InitializeResult } from "./model/structures.ts";

/** A result that may be null may be left out too. */
type Returned<Result> = Result | (null extends Result ? void : never);

/** Requests and notifications about calls and the connection, which the library handles. */
type Handled =
  | "initialize"
  | "shutdown"
  | "exit"
  | "$/cancelRequest"
  | "$/progress"
  | "client/registerCapability"
  | "client/unregisterCapability"
  | "window/workDoneProgress/create"
  | "window/workDoneProgress/cancel";

interface RequestTypes {
  readonly params: unknown;
  readonly result: unknown;
  readonly partial: unknown;
}

type RequestHandlers<Requests> = {
  readonly [Method in Exclude<keyof Requests, Handled>]?: Requests[Method] extends RequestTypes
    ? (
        params: Requests[Method]["params"],
        call: LspCall<Requests[Method]["partial"]>,
      ) => MaybePromise<Returned<Requests[Method]["result"]>>
    : never;
};

type NotificationHandlers<Notifications, Call> = {
  readonly [Method in Exclude<keyof Notifications, Handled>]?: Notifications[Method] extends {
    readonly params: infer Params;
  }
    ? (params: Params, call: Call) => MaybePromise<void>
    : never;
};

/** What a language server implements; its capabilities are derived from it. */
export type LspServerHandlers = RequestHandlers<ServerRequests> &
  NotificationHandlers<ServerNotifications, LspCall> & {
    /** Called with the client's params; may return more about the server, such as further capabilities. */
    readonly initialize?: (
      params: InitializeParams,
      call: LspCall,
    ) => MaybePromise<Partial<InitializeResult> | void>;
    /** Called before the client disconnects, to save or release what the server holds. */
    readonly shutdown?: (params: undefined, call: LspCall) => MaybePromise<void>;
  };

/** What a client of language servers, such as an editor, implements. */
export type LspClientHandlers = {
  readonly [Method in Exclude<keyof ClientRequests, Handled>]?: (
    params: ClientRequests[Method]["params"],
    call: { readonly signal: AbortSignal },
  ) => MaybePromise<Returned<ClientRequests[Method]["result"]>>;
} & NotificationHandlers<ClientNotifications, { readonly signal: AbortSignal }>;
