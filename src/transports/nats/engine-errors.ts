import { LateError } from "../../protocol/clock.ts";
import { isViolation } from "./connection-state.ts";

/** The code with which the engine says that it takes nothing for the time being. */
export const unavailableCode = 10_008;

/** Nobody answered. The client of NATS takes that for JetStream being off, unless there are two copies of it. */
export function saysNobody(error: unknown): boolean {
  const { name, cause } = error as Error;
  return name === "JetStreamNotEnabled" || (cause as Error | undefined)?.name === "NoResponders";
}

/** This user may not publish there. */
export function isForbidden(error: unknown): boolean {
  return isViolation((error as Error | undefined)?.cause);
}

/** Elections take 4 to 9 seconds, and longer where the first is a draw. After this time one is no longer waited for. */
export const electionPatienceMs = 20_000;

/** Whom it was asked of may be there again soon. */
export function isAway(error: unknown): boolean {
  const { name, code } = error as Error & { readonly code?: unknown };
  const isLate = error instanceof LateError || name === "TimeoutError";
  return isLate || saysNobody(error) || code === unavailableCode;
}
