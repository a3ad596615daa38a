/** JSON-RPC over HTTP POST, with a client that is quick in Node. @module callwire/http */
export type { HeaderRecord, HeaderSource } from "../../http/client-exchange.ts";
export type { HttpOptions } from "./endpoint-rules.ts";
export { type FetchHandler, fetchHandler } from "./fetch-handler.ts";
export { httpLink, type NodeHttpLinkOptions as HttpLinkOptions } from "./undici-link.ts";
