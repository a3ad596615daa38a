/** What the security of a server needs Node for. @module */
import { type FileHandle, open } from "node:fs/promises";
import type { AuditSink } from "./audit-log.ts";

/**
 * Appends lines to a file that only this user can read. Each line is written before its promise resolves. Where a write
 * broke off, as on a full disk, the next line begins on a line of its own.
 */
export function auditFile(path: string): AuditSink {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = "";
  let next: Promise<void> | undefined;
  // A process before this one may have failed too.
  let mayBeTorn = true;
  const flush = async (): Promise<void> => {
    const text = waiting;
    waiting = "";
    next = undefined;
    // Opened each time, so that a file which was moved away is made anew.
    const file = await open(path, "a+", 0o600);
    try {
      const isTorn = mayBeTorn && (await endsWithinLine(file));
      mayBeTorn = true;
      await file.appendFile(isTorn ? `\n${text}` : text);
      mayBeTorn = false;
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

async function endsWithinLine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  // A pipe or a device has no size, and nothing to look back at.
  if (size === 0) return false;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return bytesRead === 1 && buffer[0] !== 10;
}
