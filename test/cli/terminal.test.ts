/** The one function through which all output of servers passes on its way to a terminal. */
import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { Terminal } from "../../src/cli/terminal.ts";

class Screen extends Writable {
  readonly isTTY = true;
  text = "";

  hasColors(): boolean {
    return true;
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

function written(write: (terminal: Terminal) => void): string {
  const screen = new Screen();
  write(new Terminal(screen as unknown as NodeJS.WriteStream));
  return screen.text;
}

describe("a line that was not escaped before", () => {
  test.each([
    ["moves the cursor", "\u001b[2J", "\\u001b[2J"],
    ["sets the title", "\u001b]0;x\u0007", "\\u001b]0;x\\u0007"],
    ["begins a sequence in one byte", "\u009b31m", "\\u009b31m"],
    ["goes back to the first column", "good\rbad", "good\\u000dbad"],
    ["turns the direction of writing", "\u202etxt.exe", "\\u202etxt.exe"],
    ["hides itself", "\u001b[8mhidden", "\\u001b[8mhidden"],
  ])("%s with no effect", (_, hostile, shown) => {
    expect(written((terminal) => terminal.line(hostile))).toBe(`${shown}\n`);
  });

  test("keeps its lines, its tabs and the colours of the terminal", () => {
    const shown = written((terminal) => terminal.line(terminal.red("a\u001b[2J\tb\nc")));
    expect(shown).toBe("\u001b[31ma\\u001b[2J\tb\nc\u001b[39m\n");
  });
});
