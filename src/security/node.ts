/** Security features that need Node: the audit log in a file. @module callwire/security/node */
import { open, stat } from "node:fs/promises";
import type { AuditSink } from "./audit-log.ts";

const lineFeed = 10;

/**
 * Appends lines to a file that only this user can read. A promise resolves once its line is written.
 * After an incomplete write, such as on a full disk, the next line starts on a new line.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { auditLog } from "callwire/security";
 * import { auditFile } from "callwire/security/node";
 *
 * const audited = createServer(methods, { use: [auditLog(auditFile("audit.log"))] });
 * ```
 */
export function auditFile(path: string): AuditSink {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = "";
  let next: Promise<void> | undefined;
  // An earlier process may have left an incomplete line.
  let mayBeTorn = true;
  const flush = async (): Promise<void> => {
    const text = waiting;
    waiting = "";
    next = undefined;
    // Opened each time, so that log rotation can move the file away.
    const file = await open(path, "a", 0o600);
    try {
      const isTorn = mayBeTorn && (await endsWithinLine(path).catch(() => true));
      mayBeTorn = true;
      await file.appendFile(isTorn ? `\n${text}` : text);
      mayBeTorn = false;
    } finally {
      await file.close();
    }
  };
  return (line) => {
    waiting += line;
    // Lines that arrive during a write are written together after it.
    if (next === undefined) {
      next = last.then(flush, flush);
      last = next;
    }
    return next;
  };
}

/** Uses a separate handle: appending also works for pipes and files without read permission. */
async function endsWithinLine(path: string): Promise<boolean> {
  const { size } = await stat(path);
  if (size === 0) return false;
  const file = await open(path, "r");
  try {
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer[0] !== lineFeed;
  } finally {
    await file.close();
  }
}
