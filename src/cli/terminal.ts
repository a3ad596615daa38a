/** Writes for people: with colours on a terminal, without them in a pipe or under NO_COLOR. */
export class Terminal {
  readonly #stream: NodeJS.WriteStream;
  readonly #colours: boolean;

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    this.#colours = stream.isTTY && stream.hasColors();
  }

  line(text = ""): void {
    this.#stream.write(`${text}\n`);
  }

  bold(text: string): string {
    return this.#paint(text, 1, 22);
  }

  dim(text: string): string {
    return this.#paint(text, 2, 22);
  }

  /** For what can be clicked or pasted. */
  cyan(text: string): string {
    return this.#paint(text, 36, 39);
  }

  #paint(text: string, on: number, off: number): string {
    return this.#colours ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  }
}
