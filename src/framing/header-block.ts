const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const DIGITS = /^[ \t]*([0-9]+)[ \t]*$/;

/** The header fields in front of one Content-Length frame, read line by line. */
export class HeaderBlock {
  readonly #names = new Set<string>();
  #contentLength: number | undefined;
  #foreignCharset = false;

  /** Undefined until the field was read. */
  get contentLength(): number | undefined {
    return this.#contentLength;
  }

  /** Whether the body is announced in an encoding other than UTF-8. */
  get foreignCharset(): boolean {
    return this.#foreignCharset;
  }

  /** Reads one line without its end; returns a sentence when it is wrong. */
  add(line: string): string | undefined {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    const value = line.slice(colon + 1);
    if (!NAME.test(name)) return "A header line is not of the form 'Name: value'.";
    // Two readers that choose different ones would see different messages.
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
