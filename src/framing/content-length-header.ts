const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const DIGITS = /^[ \t]*([0-9]+)[ \t]*$/;

/** The header fields of a Content-Length frame, read line by line. */
export class HeaderBlock {
  readonly #names = new Set<string>();
  #contentLength: number | undefined;
  #foreignCharset = false;

  /** Undefined until the field was read. */
  get contentLength(): number | undefined {
    return this.#contentLength;
  }

  /** Whether the body has an encoding other than UTF-8. */
  get foreignCharset(): boolean {
    return this.#foreignCharset;
  }

  /** Reads one line without its line break; returns what is wrong with it, if anything. */
  add(line: string): string | undefined {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    const value = line.slice(colon + 1);
    if (!NAME.test(name)) return "A header line is not of the form 'Name: value'.";
    // Two parsers that choose different ones would see different messages.
    if (this.#names.has(name)) return "A header is given twice.";
    this.#names.add(name);
    if (name === "content-length") {
      const digits = DIGITS.exec(value)?.[1];
      if (digits === undefined) return "The Content-Length is not a number of bytes.";
      this.#contentLength = Number(digits);
    } else if (name === "content-type") {
      this.#foreignCharset = value.split(";").some(isForeignCharset);
    }
    return undefined;
  }
}

function isForeignCharset(parameter: string): boolean {
  const [name = "", value = ""] = parameter.toLowerCase().split("=");
  // Early versions of the language server protocol wrote utf8.
  return name.trim() === "charset" && !/^"?utf-?8"?$/.test(value.trim());
}

const USUAL_NAME = new TextEncoder().encode("Content-Length: ");
const CR = 13;
const LF = 10;
const ZERO = 48;
/** More are read line by line, where the length of the header is limited. */
const MAX_DIGITS = 15;

/** The usual header, `Content-Length: 123` and nothing else, parsed without creating strings. */
export class UsualHeader {
  #length = 0;
  #end = 0;

  /** Length of the body. */
  get length(): number {
    return this.#length;
  }

  /** Start of the body. */
  get end(): number {
    return this.#end;
  }

  /** Whether a complete header of this form starts at `start`. */
  read(chunk: Uint8Array, start: number): boolean {
    for (let i = 0; i < USUAL_NAME.length; i++)
      if (chunk[start + i] !== USUAL_NAME[i]) return false;
    let at = start + USUAL_NAME.length;
    const digits = at;
    let length = 0;
    for (let digit = digitAt(chunk, at); digit >= 0 && digit <= 9; digit = digitAt(chunk, ++at)) {
      length = length * 10 + digit;
    }
    if (at === digits || at - digits > MAX_DIGITS) return false;
    if (chunk[at] !== CR || chunk[at + 1] !== LF || chunk[at + 2] !== CR || chunk[at + 3] !== LF)
      return false;
    this.#length = length;
    this.#end = at + 4;
    return true;
  }
}

function digitAt(chunk: Uint8Array, at: number): number {
  return (chunk[at] as number) - ZERO;
}
