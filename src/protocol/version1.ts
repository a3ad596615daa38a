import type { Envelope } from "./parse.ts";

/** 1.0 has no version member: a request is known by a method, an array of params and an id. */
export function isVersion1(message: Envelope): boolean {
  return (
    message.jsonrpc === undefined &&
    typeof message.method === "string" &&
    Array.isArray(message.params) &&
    message.id !== undefined &&
    (message.id === null || typeof message.id !== "object")
  );
}
