import { HeadTemplate, isPlainLength } from "./head.ts";

/** Longer heads are left to undici. */
const longestHead = 8 * 1024;

/** Printable ASCII only, and no header that continues on the next line. */
const plainForm = /^HTTP\/1\.1 [2-5]\d\d [\t -~]*\r\n(?:[\w!#$%&'*+.^`|~-]+:[\t -~]*\r\n)*\r\n$/;

/** Headers that change how a connection or a body is read. */
const leftToUndici: ReadonlySet<string> = new Set([
  "content-encoding",
  "proxy-connection",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Headers that are used here, so that a second one would be ambiguous. */
const usedOnce: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "content-type",
  "keep-alive",
]);

/** How long an idle connection is kept if the server does not say how long it will. */
export const usualIdleMs = 4_000;
const longestIdleMs = 600_000;
/** How much earlier than the server an idle connection is closed, so that no call is sent while the server closes it. */
const closingMarginMs = 2_000;

/** The head of a reply in the one form that is read without undici: JSON of HTTP/1.1 with a length, or nothing. */
export class PlainReplyHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** How long the connection may be idle before it is closed; 0 if it must not be used again. */
  readonly idleMs: number;
  /** Undefined for a reply without a body. */
  readonly template: HeadTemplate | undefined;
  readonly contentLength: string;
  readonly size: number;

  constructor(
    head: string,
    headers: Readonly<Record<string, string>>,
    template: HeadTemplate | undefined,
  ) {
    this.status = Number(head.slice(9, 12));
    this.headers = headers;
    this.idleMs = idleTimeOf(headers);
    this.template = template;
    this.contentLength = headers["content-length"] ?? "0";
    this.size = head.length;
  }
}

/** The head at the start of these bytes; undefined if it has another form, or has not arrived completely. */
export function parseReplyHead(bytes: Buffer): PlainReplyHead | undefined {
  const end = bytes.indexOf("\r\n\r\n", 0, "latin1") + 4;
  if (end === 3 || end > longestHead) return undefined;
  const head = bytes.toString("latin1", 0, end);
  if (!plainForm.test(head)) return undefined;
  const headers: Record<string, string> = Object.create(null);
  let template: HeadTemplate | undefined;
  for (let line = head.indexOf("\r\n") + 2; line < head.length - 2; ) {
    const colon = head.indexOf(":", line);
    const lineEnd = head.indexOf("\r\n", colon);
    const name = head.slice(line, colon).toLowerCase();
    const value = head.slice(colon + 1, lineEnd).trim();
    if (leftToUndici.has(name) || (usedOnce.has(name) && name in headers)) return undefined;
    if (name === "content-length") {
      if (!isPlainLength(value) || lineEnd - value.length !== colon + 2) return undefined;
      template = new HeadTemplate(head, colon + 2, lineEnd);
    }
    headers[name] = value;
    line = lineEnd + 2;
  }
  const isRead = isPlain(head.slice(9, 12), headers);
  return isRead ? new PlainReplyHead(head, headers, template) : undefined;
}

function isPlain(status: string, headers: Readonly<Record<string, string>>): boolean {
  const { connection = "keep-alive", "content-type": type } = headers;
  if (!/^(?:keep-alive|close)$/i.test(connection)) return false;
  const hasLength = "content-length" in headers;
  if (status === "204") return !hasLength;
  // Some statuses never have a body, whatever the length says.
  if (status === "205" || status === "304" || !hasLength) return false;
  return type !== undefined && /^application\/json\s*(?:;|$)/i.test(type);
}

/** As undici does, which closes connections by the same rule. */
function idleTimeOf(headers: Readonly<Record<string, string>>): number {
  if (headers.connection?.toLowerCase() === "close") return 0;
  const seconds = /\btimeout=(\d{1,9})/i.exec(headers["keep-alive"] ?? "")?.[1];
  if (seconds === undefined) return usualIdleMs;
  return Math.max(0, Math.min(Number(seconds) * 1_000 - closingMarginMs, longestIdleMs));
}
