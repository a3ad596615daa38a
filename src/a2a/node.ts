/** A2A agents on Node's own HTTP server. @module callwire/a2a/node */
export { type A2aMountOptions, a2aMounts } from "./mounts.ts";
export { webhookMount } from "./webhook-mount.ts";
export { type WebhookOptions, webhooks } from "./webhooks.ts";
