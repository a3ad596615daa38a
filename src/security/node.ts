/** What the security of a server needs Node for. @module callwire/security/node */
import { open } from "node:fs/promises";
import type { AuditSink } from "./audit-log.ts";

/** Appends lines to a file that only this user can read. Each line is written before its promise resolves. */
export function auditFile(path: string): AuditSink {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = "";
  let next: Promise<void> | undefined;
  const flush = async (): Promise<void> => {
    const text = waiting;
    waiting = "";
    next = undefined;
    // Opened each time, so that a file which was moved away is made anew.
    const file = await open(path, "a", 0o600);
    try {
      await file.appendFile(text);
    } finally {
      await file.close();
    }
  };
  return (line) => {
    waiting += line;
    // Lines that come while one is being written leave together after it.
    if (next === undefined) {
      next = last.then(flush, flush);
      last = next;
    }
    return next;
  };
}
