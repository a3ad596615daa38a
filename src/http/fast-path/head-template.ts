const mostDigits = 7;
const plainLength = /^(?:0|[1-9]\d{0,6})$/;

/** Whether a Content-Length has the one form that is read without Node or undici. */
export function isPlainLength(text: string): boolean {
  return plainLength.test(text);
}

/** The heads of a connection differ in little but Content-Length, so one is parsed and the next are compared with it. */
export class HeadTemplate {
  /** The head up to the digits of Content-Length, and all after them. */
  readonly #before: string;
  readonly #after: string;

  constructor(head: string, digitsAt: number, digitsEnd: number) {
    this.#before = head.slice(0, digitsAt);
    this.#after = head.slice(digitsEnd);
  }

  /** The Content-Length of the head that begins there, if it differs from this one in nothing else. */
  lengthIn(bytes: Buffer, at: number): string | undefined {
    const before = this.#before;
    const after = this.#after;
    const text = bytes.toString("latin1", at, at + before.length + mostDigits + after.length);
    let end = before.length;
    while (isDigit(text.charCodeAt(end))) end++;
    const isSame =
      text.slice(0, before.length) === before && text.slice(end, end + after.length) === after;
    const length = text.slice(before.length, end);
    return isSame && isPlainLength(length) ? length : undefined;
  }

  /** How many characters the head has with this Content-Length. */
  sizeWith(contentLength: string): number {
    return this.#before.length + contentLength.length + this.#after.length;
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
