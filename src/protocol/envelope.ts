/** A parsed message before it is checked. */
export interface Envelope {
  readonly jsonrpc?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly id?: unknown;
}

export function isEnvelope(value: unknown): value is Envelope {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of a value from the wire; none if it is not an object. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isEnvelope(value) ? (value as Readonly<Record<string, unknown>>) : {};
}

/** Replaces the version of a message in which a member occurs twice. */
export const duplicateMember: unique symbol = Symbol("duplicateMember");
