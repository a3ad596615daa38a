import type { ExchangeAnswer } from "../conformance/conformance-wire.ts";

const headEnd = "\r\n\r\n";
const lineEnd = "\r\n";
const longest = 64 * 1024 * 1024;

interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Reads HTTP responses from a raw connection. */
export class ResponseReader {
  readonly answers: ExchangeAnswer[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  #parts: Buffer[] = [];
  #length = 0;
  /** Bytes needed before parsing again can succeed. */
  #needed = 0;

  /** Throws if the bytes are not HTTP. */
  push(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#length += chunk.length;
    if (this.#length > longest) throw new Error(`the response is longer than ${longest} bytes`);
    if (this.#length >= this.#needed) this.#read(false);
  }

  /** The connection closed, which ends a body without a length. */
  end(): void {
    this.#read(true);
  }

  #read(ended: boolean): void {
    this.#bytes = Buffer.concat([this.#bytes, ...this.#parts]);
    this.#parts = [];
    let more = true;
    while (more) more = this.#next(ended);
    this.#length = this.#bytes.length;
  }

  #next(ended: boolean): boolean {
    const at = this.#bytes.indexOf(headEnd);
    if (at === -1) {
      const start = this.#bytes.subarray(0, 5).toString("latin1");
      if (!"HTTP/".startsWith(start)) throw new Error("the response is not HTTP");
      return false;
    }
    const head = headOf(this.#bytes.toString("latin1", 0, at));
    const start = at + headEnd.length;
    const rest = this.#bytes.subarray(start);
    const body = bodyOf(head, rest, ended);
    this.#needed = body === undefined ? start + Number(head.headers["content-length"] ?? 0) : 0;
    if (body === undefined) return false;
    this.#bytes = rest.subarray(body.taken);
    if (head.status >= 200) this.answers.push({ ...head, body: body.bytes.toString("utf8") });
    return this.#bytes.length > 0;
  }
}

function headOf(text: string): Head {
  const [first = "", ...lines] = text.split(lineEnd);
  const status = Number(/^HTTP\/1\.\d (\d{3})\b/.exec(first)?.[1]);
  if (Number.isNaN(status)) throw new Error("the response is not HTTP");
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return { status, headers: Object.fromEntries(headers) };
}

function bodyOf(
  { status, headers }: Head,
  rest: Buffer,
  ended: boolean,
): { readonly bytes: Buffer; readonly taken: number } | undefined {
  if (status < 200 || status === 204 || status === 304) return { bytes: Buffer.alloc(0), taken: 0 };
  if (/\bchunked\b/i.test(headers["transfer-encoding"] ?? "")) return chunksOf(rest);
  const length = headers["content-length"];
  if (length === undefined) return ended ? { bytes: rest, taken: rest.length } : undefined;
  const taken = Number(length);
  return rest.length >= taken ? { bytes: rest.subarray(0, taken), taken } : undefined;
}

function chunksOf(rest: Buffer): { readonly bytes: Buffer; readonly taken: number } | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = rest.indexOf(lineEnd, at);
    if (end === -1) return undefined;
    const size = Number.parseInt(rest.toString("latin1", at, end), 16);
    if (Number.isNaN(size)) throw new Error("a chunk of the response has no valid size");
    const start = end + lineEnd.length;
    const next = start + size + lineEnd.length;
    if (rest.length < next) return undefined;
    if (size === 0) return { bytes: Buffer.concat(parts), taken: next };
    parts.push(rest.subarray(start, start + size));
    at = next;
  }
}
