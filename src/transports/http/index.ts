/** JSON-RPC over HTTP POST: the link of a client and the handler of a server, wherever `fetch` exists. @module */
export type { HeaderRecord, HeaderSource } from "../../framing/http-exchange.ts";
export { type HttpLinkOptions, httpLink } from "./client.ts";
export type { HttpOptions } from "./endpoint.ts";
export { type FetchHandler, fetchHandler } from "./server.ts";
