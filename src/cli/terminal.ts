import { printable, printableLines } from "callwire";

/** The colours of this class; all other control sequences are escaped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with it
const ownPaint = /(\u001b\[(?:1|2|22|31|32|33|36|39)m)/;

/**
 * Writes for people: with colours on a terminal, without them in a pipe or with NO_COLOR. Escapes control characters,
 * so that a server cannot control the terminal.
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
    // Some terminals report 0 at first.
    return this.#stream.columns || 80;
  }

  line(text = ""): void {
    this.write(`${text}\n`);
  }

  /** Writes lines; false if the reader is slow. */
  write(text: string): boolean {
    return this.#stream.write(this.safe(text));
  }

  /** Escapes everything except the colours of this class. */
  safe(text: string): string {
    return text
      .split(ownPaint)
      .map((part, i) => (i % 2 === 0 ? printableLines(part) : part))
      .join("");
  }

  readonly bold = (text: string): string => this.#paint(text, 1, 22);
  readonly dim = (text: string): string => this.#paint(text, 2, 22);
  /** For names and addresses. */
  readonly cyan = (text: string): string => this.#paint(text, 36, 39);
  /** For errors. */
  readonly red = (text: string): string => this.#paint(text, 31, 39);
  /** For strings in JSON, and for success. */
  readonly green = (text: string): string => this.#paint(text, 32, 39);
  /** For numbers in JSON, and for warnings. */
  readonly yellow = (text: string): string => this.#paint(text, 33, 39);

  #paint(text: string, on: number, off: number): string {
    return this.#colours ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  }
}

const token = /("(?:\\.|[^"\\])*")(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

export function jsonView(value: unknown, terminal: Terminal, indent = 2): string {
  // A missing result is shown as null.
  const text = printableLines(JSON.stringify(value, null, indent) ?? "null");
  return text.replace(token, (match, string?: string, colon?: string) => {
    if (string !== undefined && colon !== undefined) return terminal.cyan(string) + colon;
    if (string !== undefined) return terminal.green(string);
    return terminal.yellow(match);
  });
}

export function jsonLine(value: unknown): string {
  return printableLines(JSON.stringify(value) ?? "null");
}

/** Writes one line to standard error; it may quote a server. */
export function notice(message: string): void {
  console.error(`callwire: ${printable(message)}`);
}

/** `1 tool`, `2 tools`. */
export function counted(many: number, what: string): string {
  return many === 1 ? `1 ${what}` : `${many} ${what}s`;
}
