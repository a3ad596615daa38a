import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

const mostLines = 1000;

/** Typed lines in the state folder of the user; lost if the folder cannot be written. */
export class History {
  readonly #file = defaultFile();

  /** Newest first, as readline expects. */
  load(): string[] {
    let lines: string[];
    try {
      lines = readFileSync(this.#file, "utf8").split("\n").filter(Boolean);
    } catch {
      return [];
    }
    const kept = lines.slice(-mostLines);
    // Truncate the file from time to time.
    if (lines.length > 2 * mostLines) this.#write(() => writeFileSync(this.#file, joined(kept)));
    return kept.reverse();
  }

  /** Ignores lines that begin with a space, as shells do. */
  add(line: string): void {
    if (line.trim() === "" || line.startsWith(" ")) return;
    this.#write(() => {
      // Calls may contain secrets.
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      appendFileSync(this.#file, joined([line]), { mode: 0o600 });
    });
  }

  #write(write: () => void): void {
    try {
      write();
    } catch {
      // History is optional.
    }
  }
}

function joined(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

function defaultFile(): string {
  const { XDG_STATE_HOME, LOCALAPPDATA } = process.env;
  const own = process.platform === "win32" ? LOCALAPPDATA : XDG_STATE_HOME;
  return join(own || join(homedir(), ".local", "state"), "callwire", "repl-history");
}
