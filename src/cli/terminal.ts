import { printable, printableLines } from "callwire";

/** What this file paints with; nothing else that steers a terminal is ever written. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is how colours begin
const ownPaint = /(\u001b\[(?:1|2|22|31|32|33|36|39)m)/;

/**
 * Writes for people: with colours on a terminal, without them in a pipe or under NO_COLOR. What servers said passes here
 * on its way out, so that none of it can steer a terminal.
 */
export class Terminal {
  readonly #stream: NodeJS.WriteStream;
  readonly #colours: boolean;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    this.#colours = stream.isTTY && stream.hasColors();
  }

  get isTerminal(): boolean {
    return this.#stream.isTTY === true;
  }

  get width(): number {
    // Some terminals say 0 before they know.
    return this.#stream.columns || 80;
  }

  line(text = ""): void {
    this.write(`${text}\n`);
  }

  /** Text of any number of lines; false where the reader is slow. */
  write(text: string): boolean {
    return this.#stream.write(this.safe(text));
  }

  /** The same text, in which only colours of this class have an effect. */
  safe(text: string): string {
    return text
      .split(ownPaint)
      .map((part, i) => (i % 2 === 0 ? printableLines(part) : part))
      .join("");
  }

  bold(text: string): string {
    return this.#paint(text, 1, 22);
  }

  dim(text: string): string {
    return this.#paint(text, 2, 22);
  }

  /** For what can be clicked or pasted, and for names. */
  cyan(text: string): string {
    return this.#paint(text, 36, 39);
  }

  /** For errors. */
  red(text: string): string {
    return this.#paint(text, 31, 39);
  }

  /** For texts within JSON, and for what is well. */
  green(text: string): string {
    return this.#paint(text, 32, 39);
  }

  /** For numbers within JSON, and for what wants attention. */
  yellow(text: string): string {
    return this.#paint(text, 33, 39);
  }

  #paint(text: string, on: number, off: number): string {
    return this.#colours ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  }
}

const token = /("(?:\\.|[^"\\])*")(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

/** JSON for people: indented, and coloured where the terminal has colours. */
export function jsonView(value: unknown, terminal: Terminal, indent = 2): string {
  // A result that is nothing, which 2.0 has no word for, reads best as null.
  const text = printableLines(JSON.stringify(value, null, indent) ?? "null");
  return text.replace(token, (match, string?: string, colon?: string) => {
    if (string !== undefined && colon !== undefined) return terminal.cyan(string) + colon;
    if (string !== undefined) return terminal.green(string);
    return terminal.yellow(match);
  });
}

/** On one line, for lists and scripts. */
export function jsonLine(value: unknown): string {
  return printableLines(JSON.stringify(value) ?? "null");
}

/** Says something on standard error that is no result, in one line; it may hold what a server said. */
export function notice(sentence: string): void {
  console.error(`callwire: ${printable(sentence)}`);
}

/** `1 tool`, `2 tools`. */
export function counted(many: number, what: string): string {
  return many === 1 ? `1 ${what}` : `${many} ${what}s`;
}
