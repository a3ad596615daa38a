const NAME = new TextEncoder().encode("Content-Length: ");
const CR = 13;
const LF = 10;
const ZERO = 48;

/** The header that nearly every peer sends, `Content-Length: 123` and nothing else, read without making strings. */
export class UsualHeader {
  #length = 0;
  #end = 0;

  /** How long the body is. */
  get length(): number {
    return this.#length;
  }

  /** Where the body starts. */
  get end(): number {
    return this.#end;
  }

  /** Whether such a header stands there as a whole. */
  read(chunk: Uint8Array, start: number): boolean {
    for (let i = 0; i < NAME.length; i++) if (chunk[start + i] !== NAME[i]) return false;
    let at = start + NAME.length;
    const digits = at;
    let length = 0;
    for (let digit = digitAt(chunk, at); digit >= 0 && digit <= 9; digit = digitAt(chunk, ++at)) {
      length = length * 10 + digit;
    }
    if (at === digits) return false;
    if (chunk[at] !== CR || chunk[at + 1] !== LF || chunk[at + 2] !== CR || chunk[at + 3] !== LF)
      return false;
    this.#length = length;
    this.#end = at + 4;
    return true;
  }
}

function digitAt(chunk: Uint8Array, at: number): number {
  return (chunk[at] ?? 0) - ZERO;
}
