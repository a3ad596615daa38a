/** JSON-RPC over NATS: workers that share the calls, and links to them. @module callwire/nats */
export { type NatsLinkOptions, natsLink } from "./link.ts";
export { type NatsWorker, type ServeNatsOptions, serveNats } from "./serve.ts";
