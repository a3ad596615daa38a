/** Bytes that are read one chunk after the other. */
export interface ByteSource {
  /** The next chunk, or undefined at the end. Rejects if the connection broke. */
  read(): Promise<Uint8Array | undefined>;
  /** Nothing more will be read. */
  cancel(): void;
}

/** The chunks of a body of `fetch`. */
export function sourceOf(body: ReadableStream<Uint8Array> | null): ByteSource {
  const reader = body?.getReader();
  return {
    read: async () => (await reader?.read())?.value,
    cancel: () => void reader?.cancel().catch(() => {}),
  };
}

/** Headers of a part are read up to here, and so is what follows the last part. */
const longestHeaders = 8 * 1024;
const longestEpilogue = 8 * 1024;

/** RFC 2046, without the space that no client sends. */
const boundaryForm = /^[\w'()+,./:=?-]{1,70}$/;

/** The boundary of a `multipart/form-data` body; undefined if the media type is another one, or has none. */
export function boundaryOf(contentType: string | null | undefined): string | undefined {
  const [, quoted, token] =
    /^multipart\/form-data[ \t]*;[ \t]*boundary=(?:"([^"]*)"|([^\s";]+))[ \t]*$/i.exec(
      contentType?.trim() ?? "",
    ) ?? [];
  const boundary = quoted ?? token ?? "";
  return boundaryForm.test(boundary) ? boundary : undefined;
}

const cr = 13;
const lf = 10;
const dash = 45;
const space = 32;
const tab = 9;

/** Throws this if a body is not multipart. */
export class MultipartError extends Error {}

/**
 * Reads the parts of a multipart body one after the other, and never holds more than a chunk of a part. Headers of
 * parts are skipped: the message says what its parts are.
 */
export class MultipartReader {
  readonly #source: ByteSource;
  /** What separates parts, with the line break before it, which belongs to it. */
  readonly #delimiter: Uint8Array;
  /** What was read and not used yet. */
  #rest: Uint8Array = new Uint8Array(0);
  /** Whether a delimiter comes next, so that the current part has ended. */
  #isBetween = true;
  #isOver = false;

  constructor(source: ByteSource, boundary: string) {
    this.#source = source;
    this.#delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
    // The first delimiter has no line break before it.
    this.#rest = new Uint8Array([cr, lf]);
  }

  /** Whether the last part was read to its end. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Goes to the next part, after the current one was read to its end; false if there is none. */
  async next(): Promise<boolean> {
    if (!this.#isBetween) throw new TypeError("the current part was not read to its end");
    if (this.#isOver) return false;
    await this.#expectDelimiter();
    const [first, second] = await this.#atLeast(2, "the body ends at a boundary");
    if (first === dash && second === dash) {
      this.#isOver = true;
      await this.#skipEpilogue();
      return false;
    }
    if (first !== cr && first !== space && first !== tab) {
      throw new MultipartError("a boundary must be followed by a line break");
    }
    await this.#skipHeaders();
    this.#isBetween = false;
    return true;
  }

  /** The next bytes of the current part, or undefined at its end. */
  async chunk(): Promise<Uint8Array | undefined> {
    while (!this.#isBetween) {
      const { found, end } = delimiterIn(this.#rest, this.#delimiter);
      if (end > 0) {
        const chunk = this.#rest.subarray(0, end);
        this.#rest = this.#rest.subarray(end);
        return chunk;
      }
      if (found) this.#isBetween = true;
      else await this.#readMore("the body ends in the middle of a part");
    }
    return undefined;
  }

  cancel(): void {
    this.#source.cancel();
  }

  async #expectDelimiter(): Promise<void> {
    const { length } = this.#delimiter;
    const start = await this.#atLeast(length, "the body does not begin with its boundary");
    if (this.#delimiter.some((byte, i) => start[i] !== byte)) {
      throw new MultipartError("the body does not begin with its boundary");
    }
    this.#rest = start.subarray(length);
  }

  /** Ends with an empty line; the line of the delimiter ends first, and may have spaces. */
  async #skipHeaders(): Promise<void> {
    let searched = 0;
    for (;;) {
      const end = emptyLineIn(this.#rest, Math.max(0, searched - 3));
      if (end !== -1) {
        this.#rest = this.#rest.subarray(end);
        return;
      }
      searched = this.#rest.length;
      if (searched > longestHeaders) throw new MultipartError("the headers of a part are too long");
      await this.#readMore("the body ends in the headers of a part");
    }
  }

  async #skipEpilogue(): Promise<void> {
    let length = this.#rest.length;
    this.#rest = new Uint8Array(0);
    while (length <= longestEpilogue) {
      const chunk = await this.#source.read();
      if (chunk === undefined) return;
      length += chunk.length;
    }
    throw new MultipartError("too much follows the last part");
  }

  async #atLeast(length: number, otherwise: string): Promise<Uint8Array> {
    while (this.#rest.length < length) await this.#readMore(otherwise);
    return this.#rest;
  }

  async #readMore(otherwise: string): Promise<void> {
    const chunk = await this.#source.read();
    if (chunk === undefined) throw new MultipartError(otherwise);
    if (this.#rest.length === 0) this.#rest = chunk;
    else {
      const joined = new Uint8Array(this.#rest.length + chunk.length);
      joined.set(this.#rest);
      joined.set(chunk, this.#rest.length);
      this.#rest = joined;
    }
  }
}

/** Where the part ends in these bytes: at a delimiter (`found`), at what may be the start of one, or not in them. */
function delimiterIn(bytes: Uint8Array, delimiter: Uint8Array): { found: boolean; end: number } {
  for (let at = bytes.indexOf(cr); at !== -1; at = bytes.indexOf(cr, at + 1)) {
    let same = 1;
    while (same < delimiter.length && bytes[at + same] === delimiter[same]) same++;
    if (same === delimiter.length) return { found: true, end: at };
    if (at + same === bytes.length) return { found: false, end: at };
  }
  return { found: false, end: bytes.length };
}

/** The position after the first empty line; -1 if there is none. */
function emptyLineIn(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(cr, from); at !== -1; at = bytes.indexOf(cr, at + 1)) {
    if (bytes[at + 1] === lf && bytes[at + 2] === cr && bytes[at + 3] === lf) return at + 4;
  }
  return -1;
}
