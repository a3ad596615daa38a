import type { StreamConfig } from "./client-library.ts";

/**
 * The limits for which a stream gives up what it has stored, and nobody has handled. `max_bytes` is one even where the newest is to be
 * refused instead: nats-server 2.9 counts too little of what it is about to store, and then makes room for it.
 */
export function forgetfulLimits(config: StreamConfig): readonly string[] {
  const refusing: string[] = [];
  if (config.discard === "new") {
    refusing.push("max_msgs");
    if (config.discard_new_per_subject) refusing.push("max_msgs_per_subject");
  }
  return (["max_age", "max_msgs", "max_bytes", "max_msgs_per_subject"] as const).filter(
    (name) => (config[name] ?? 0) > 0 && !refusing.includes(name),
  );
}
