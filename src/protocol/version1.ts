import type { Envelope } from "./parse.ts";

/** Scalars that may be the id of a 1.0 request. */
export type Version1Id = string | number | boolean | null;

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
