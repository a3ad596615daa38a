import { type AlsoTemporary, outcomeOf } from "../../protocol/retry-rule.ts";

/** The wait before the second attempt; it doubles with each attempt. */
export const retryMs = 500;
/** The longest wait between two attempts. */
export const longestRetryMs = 30_000;

/** A subscription outlives failed requests and lost sessions (404), so more failures are temporary for it. */
const subscription: AlsoTemporary = {
  codes: ["TIMEOUT", "ABORTED", "BAD_REPLY"],
  statuses: [404, 408, 429, 500],
};

/** Whether subscribing again may succeed. */
export function isTemporary(error: unknown): boolean {
  return outcomeOf(error, subscription) !== "final";
}
