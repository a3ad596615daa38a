import { createHash } from "node:crypto";

/** Stands for what a caller wrote, which may be no name for NATS, and as long as it likes. */
export function keyName(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
