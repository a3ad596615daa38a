import type { MaybePromise } from "./message.ts";

/** What a client shows a server to authenticate itself. */
export interface Credentials {
  /** Headers of HTTP requests, and of the request that opens a WebSocket, except in pages, which cannot set them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Subprotocols of a WebSocket, such as `ticketProtocols(ticket)` of `callwire/security`. */
  readonly protocols?: readonly string[];
}

/** Gets credentials; `refused` says that the server refused the last ones, so that they need to be renewed. */
export type CredentialSource = (request: {
  readonly refused: boolean;
}) => MaybePromise<Credentials>;

/** How callers present a credential, in terms of OpenAPI; for descriptions of a service, such as the card of an agent. */
export type AuthScheme =
  | { readonly type: "http"; readonly scheme: string }
  | { readonly type: "apiKey"; readonly in: "header"; readonly name: string }
  | { readonly type: "mutualTLS" };
