import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

const mostLines = 1000;

/** Lines that were typed before, in the user's state folder. Where it cannot be written, none are kept. */
export class History {
  readonly #file: string;

  constructor(file: string = defaultFile()) {
    this.#file = file;
  }

  /** The newest first, as readline wants them. */
  load(): string[] {
    let lines: string[];
    try {
      lines = readFileSync(this.#file, "utf8").split("\n").filter(Boolean);
    } catch {
      return [];
    }
    const kept = lines.slice(-mostLines);
    // Cut at times, so that it does not grow for ever.
    if (lines.length > 2 * mostLines) this.#write(() => writeFileSync(this.#file, joined(kept)));
    return kept.reverse();
  }

  /** A line that begins with a space is not kept, as in a shell. */
  add(line: string): void {
    if (line.trim() === "" || line.startsWith(" ")) return;
    this.#write(() => {
      // Calls may hold secrets, so that others must not read them.
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      appendFileSync(this.#file, joined([line]), { mode: 0o600 });
    });
  }

  #write(write: () => void): void {
    try {
      write();
    } catch {
      // A session without history is better than none.
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
