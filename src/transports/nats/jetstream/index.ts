/** Notifications that NATS JetStream stores until they are handled. @module callwire/nats/jetstream */
export type { DeliveryOptions } from "./delivery.ts";
export { type DuplicateNotification, type DurableLinkOptions, durableLink } from "./link.ts";
export type { DurableOptions, StorageOptions } from "./queue.ts";
export { type DurableWorker, type ServeDurableOptions, serveDurable } from "./serve.ts";
