import { chmodSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { TokenStore } from "callwire/mcp/client";
import { Failure, oneLine } from "../failure.ts";

/** Tokens in a file that only its owner can read; read each time, because another process may renew them. */
export class TokenFile implements TokenStore {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    read(path);
  }

  get(key: string): string | undefined {
    const kept = read(this.#path);
    return Object.hasOwn(kept, key) ? kept[key] : undefined;
  }

  set(key: string, value: string): void {
    this.#write({ ...read(this.#path), [key]: value });
  }

  delete(key: string): void {
    const { [key]: gone, ...rest } = read(this.#path);
    if (gone !== undefined) this.#write(rest);
  }

  /** Replaces the file atomically. */
  #write(kept: Record<string, string>): void {
    const fresh = `${this.#path}.${process.pid}`;
    try {
      writeFileSync(fresh, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600, flag: "wx" });
      // The umask may have removed bits.
      chmodSync(fresh, 0o600);
      renameSync(fresh, this.#path);
    } catch (error) {
      rmSync(fresh, { force: true });
      throw new Failure(`${this.#path} cannot be written: ${oneLine(error)}`, { cause: error });
    }
  }
}

function read(path: string): Record<string, string> {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return {};
  if (process.platform !== "win32" && (stats.mode & 0o077) !== 0) {
    throw new Failure(`${path} is readable by other users; run chmod 600 on it`);
  }
  try {
    const kept: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (isStrings(kept)) return kept;
  } catch (error) {
    throw new Failure(`${path} cannot be read: ${oneLine(error)}`, { cause: error });
  }
  throw new Failure(`${path} is not a token file`);
}

function isStrings(kept: unknown): kept is Record<string, string> {
  return (
    typeof kept === "object" &&
    kept !== null &&
    Object.values(kept).every((value) => typeof value === "string")
  );
}
