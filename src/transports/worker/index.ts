/** JSON-RPC over message ports: worker threads, web workers, MessageChannel (`callwire/worker`). @module */
export { type PortLinkOptions, portLink } from "./link.ts";
export type { Port } from "./port.ts";
export { type PortServer, type ServePortOptions, servePort } from "./serve.ts";
