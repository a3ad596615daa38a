/** JSON-RPC over server-sent events: replies that arrive as events and survive a broken connection. @module callwire/sse */
export { type SseLinkOptions, sseLink } from "./link.ts";
