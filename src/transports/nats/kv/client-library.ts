/** All that is taken from NATS's client for key-value buckets; the bucket itself is passed in. */
export type { KV, KvEntry } from "@nats-io/kv";
