/** JSON-RPC over HTTP POST, with a client that is quick in Node. @module callwire/http */
export type { HeaderRecord, HeaderSource } from "../../framing/http-exchange.ts";
export { httpLink, type NodeHttpLinkOptions as HttpLinkOptions } from "./client-node.ts";
export type { HttpOptions } from "./endpoint.ts";
export { type FetchHandler, fetchHandler } from "./server.ts";
