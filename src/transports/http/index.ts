/** JSON-RPC over HTTP POST: the link of a client and the handler of a server, wherever `fetch` exists. @module */
export type { HeaderRecord, HeaderSource } from "../../http/client-exchange.ts";
export type { HttpOptions } from "./endpoint-rules.ts";
export { type FetchHandler, fetchHandler } from "./fetch-handler.ts";
export { type HttpLinkOptions, httpLink } from "./fetch-link.ts";
