import { createHmac } from "node:crypto";

/** Fewer characters could be tried one after the other. */
const shortestSecret = 16;

/** Refuses a secret that is none. */
export function requireSecret(secret: string | undefined): void {
  if (secret === undefined) return;
  if (typeof secret === "string" && secret.length >= shortestSecret) return;
  throw new TypeError(`"messageIdSecret" must be a string of ${shortestSecret} characters or more`);
}

/**
 * The id under which a stream stores a message, made from what tells a repetition. A stream keeps the ids of all its subjects together,
 * so an id that is used as it is could be used up by whoever may publish to another subject, and the message would be lost as a repetition.
 */
export function messageIdOf(parts: readonly (string | number)[], secret = ""): string {
  return createHmac("sha256", secret).update(JSON.stringify(parts)).digest("base64url");
}
