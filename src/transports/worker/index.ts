/** JSON-RPC over message ports: worker threads, web workers, MessageChannel. @module callwire/worker */
export { type PortLinkOptions, portLink } from "./link.ts";
export type { Port } from "./port-channel.ts";
export { type PortServer, type ServePortOptions, servePort } from "./serve.ts";
