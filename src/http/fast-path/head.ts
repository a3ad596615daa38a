import { maxHeaderSize } from "node:http";
import type { RequestHead } from "../http-message.ts";

/** Longer heads, and heads with more headers, are left to Node. */
const longestHead = Math.min(8 * 1024, maxHeaderSize);
const mostHeaders = 64;
const mostDigits = 7;
const plainLength = /^(?:0|[1-9]\d{0,6})$/;

/** Printable ASCII only, and no header that continues on the next line. */
const plainForm = /^POST \/[!-~]* HTTP\/1\.1\r\n(?:[\w!#$%&'*+.^`|~-]+:[\t -~]*\r\n)+\r\n$/;

/** Headers that change how a connection or a body is read, or that Node does not return as one string. */
const leftToNode: ReadonlySet<string> = new Set([
  "content-encoding",
  "expect",
  "proxy-connection",
  "set-cookie",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * A head in the one form that the fast path reads: a POST of HTTP/1.1 with a length, and no header twice. The requests
 * of a connection differ in little but the length, so a head is parsed once and then compared.
 */
export class PlainHead {
  readonly target: string;
  /** All headers by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly site: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly accept: string | undefined;
  readonly template: HeadTemplate;

  constructor(
    head: string,
    headers: Readonly<Record<string, string>>,
    digitsAt: number,
    digitsEnd: number,
  ) {
    this.target = head.slice(5, head.indexOf(" ", 5));
    this.headers = headers;
    this.host = this.get("host");
    this.origin = this.get("origin");
    this.site = this.get("sec-fetch-site");
    this.contentType = this.get("content-type");
    this.contentEncoding = this.get("content-encoding");
    this.accept = this.get("accept");
    this.template = new HeadTemplate(head, digitsAt, digitsEnd);
  }

  get(name: string): string | undefined {
    return Object.hasOwn(this.headers, name) ? this.headers[name] : undefined;
  }
}

/** The head that begins there; undefined if it has another form, or has not arrived completely. */
export function parseHead(bytes: Buffer, at: number): PlainHead | undefined {
  const end = bytes.indexOf("\r\n\r\n", at, "latin1") + 4;
  if (end === 3 || end - at > longestHead) return undefined;
  const head = bytes.toString("latin1", at, end);
  if (!plainForm.test(head)) return undefined;
  const headers: Record<string, string> = {};
  let count = 0;
  let digitsAt = -1;
  let digitsEnd = -1;
  for (let line = head.indexOf("\r\n") + 2; line < head.length - 2; ) {
    const colon = head.indexOf(":", line);
    const lineEnd = head.indexOf("\r\n", colon);
    const name = head.slice(line, colon).toLowerCase();
    const value = head.slice(colon + 1, lineEnd).trim();
    if (!isPlainHeader(name, value) || Object.hasOwn(headers, name)) return undefined;
    if (name === "content-length") {
      digitsEnd = lineEnd;
      digitsAt = lineEnd - value.length;
      // Node takes some kinds of space around the digits, but not all.
      if (digitsAt !== colon + 2 || head[colon + 1] !== " ") return undefined;
    }
    headers[name] = value;
    count++;
    line = lineEnd + 2;
  }
  if (digitsAt === -1 || !Object.hasOwn(headers, "host") || count > mostHeaders) return undefined;
  return new PlainHead(head, headers, digitsAt, digitsEnd);
}

function isPlainHeader(name: string, value: string): boolean {
  if (name === "connection") return value.toLowerCase() === "keep-alive";
  if (name === "content-length") return isPlainLength(value);
  // Its body is read while the call runs.
  if (name === "content-type") return !/^multipart\//i.test(value);
  return !leftToNode.has(name);
}

/** What one request says before its body. */
export class FastHead implements RequestHead {
  readonly method = "POST";
  readonly isAmbiguous = false;
  readonly target: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly site: string | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly accept: string | undefined;
  readonly contentLength: string;
  readonly #plain: PlainHead;
  #headers: Record<string, string> | undefined = undefined;

  constructor(plain: PlainHead, contentLength: string) {
    this.#plain = plain;
    this.target = plain.target;
    this.host = plain.host;
    this.origin = plain.origin;
    this.site = plain.site;
    this.contentType = plain.contentType;
    this.contentEncoding = plain.contentEncoding;
    this.accept = plain.accept;
    this.contentLength = contentLength;
  }

  get(name: string): string | undefined {
    return name === "content-length" ? this.contentLength : this.#plain.get(name);
  }

  /** All headers, as Node returns them; a copy, because middleware may change it. */
  get headers(): Record<string, string> {
    this.#headers ??= { ...this.#plain.headers, "content-length": this.contentLength };
    return this.#headers;
  }
}

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
