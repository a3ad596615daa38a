import { contentLengthFraming } from "../../../src/framing/content-length.ts";
import type { Framing } from "../../../src/framing/framing.ts";
import { lengthPrefixFraming } from "../../../src/framing/length-prefix.ts";
import { newlineFraming } from "../../../src/framing/newline.ts";
import { cut, pieceLengths } from "../json.ts";
import type { Random } from "../random.ts";
import { broken, type FuzzTarget, fuzzTarget } from "../target.ts";

const maxMessageBytes = 40;

interface Input {
  readonly bytes: string;
  readonly pieces: readonly number[];
  readonly isEnded: boolean;
}

/** What a decoder reported: messages, kinds of faults, and whether it can continue to read. */
type Event = string | { readonly fault: string; readonly fatal: boolean };

type Naive = (bytes: Uint8Array, isEnded: boolean) => Event[];

function framingTarget(
  framing: Framing,
  frame: (random: Random) => string,
  naive: Naive,
): FuzzTarget {
  return fuzzTarget<Input>({
    holds:
      "messages and faults are those of a naive decoder that has all bytes, however they are cut; what is encoded is decoded",
    briefly: 10_000,
    reaches: ["messages", "faults"],
    generate: (random) => {
      const bytes = random.some(5, () => frame(random)).join("");
      // Single bytes of long frames take long, and find nothing more.
      const pieces = bytes.length > 1_000 ? [1 + random.below(3_000)] : pieceLengths(random);
      return { bytes, pieces, isEnded: random.oneIn(2) };
    },
    check({ bytes, pieces, isEnded }) {
      const all = Buffer.from(bytes, "latin1");
      const given = decoded(framing, cut(all, pieces), isEnded);
      const wanted = naive(all, isEnded);
      if (JSON.stringify(given) !== JSON.stringify(wanted))
        broken("decoded differently", { given, wanted });
      const messages = given.filter((event) => typeof event === "string");
      checkEncoding(framing, messages);
      return messages.length === given.length ? "messages" : "faults";
    },
  });
}

function decoded(framing: Framing, pieces: readonly Uint8Array[], isEnded: boolean): Event[] {
  const events: Event[] = [];
  const decoder = framing.decoder({ maxMessageBytes });
  const sink = {
    text: (message: string) => void events.push(message),
    fault: ({ kind, fatal }: { kind: string; fatal: boolean }) =>
      void events.push({ fault: kind, fatal }),
  };
  for (const piece of pieces) {
    // The decoder must not keep the chunk, which the wire reuses.
    const chunk = Uint8Array.from(piece);
    decoder.push(chunk, sink);
    chunk.fill(0x5b);
  }
  if (isEnded) decoder.end(sink);
  return events;
}

/** Valid JSON survives encoding and decoding. */
function checkEncoding(framing: Framing, messages: readonly string[]): void {
  const texts = messages.map((message) => JSON.stringify(message.slice(0, 4)));
  if (texts.length === 0) return;
  for (const frames of [
    framing.encodeAll(texts),
    ...(texts.length === 1 ? [framing.encode(texts[0] as string)] : []),
  ]) {
    const bytes = typeof frames === "string" ? Buffer.from(frames) : frames;
    const again = decoded(framing, [bytes], false).map(
      (event) => JSON.parse(event as string) as string,
    );
    const before = messages.map((message) => message.slice(0, 4));
    if (JSON.stringify(again) !== JSON.stringify(before))
      broken("encoded differently", { again, before });
  }
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A message, or the fault of bytes that are not UTF-8. */
function textOf(bytes: Uint8Array): Event {
  try {
    return strict.decode(bytes);
  } catch {
    return { fault: "encoding", fatal: false };
  }
}

const truncated: Event = { fault: "truncated", fatal: true };
const malformed: Event = { fault: "malformed", fatal: true };

function naiveLines(bytes: Uint8Array, isEnded: boolean): Event[] {
  const lines = Buffer.from(bytes).toString("latin1").split("\n");
  const last = lines.pop() as string;
  const events = lines.flatMap((line) =>
    lineEvents(line.endsWith("\r") ? line.slice(0, -1) : line),
  );
  // A line is too long as soon as its bytes are, even if it has not ended.
  const isLong = last.length - (last.endsWith("\r") ? 1 : 0) > maxMessageBytes;
  if (isLong) return [...events, { fault: "oversize", fatal: false }];
  if (!isEnded || last === "") return events;
  const text = textOf(Buffer.from(last, "latin1"));
  if (typeof text !== "string") return [...events, truncated];
  if (/^[ \t\r]*$/.test(text)) return events;
  return [...events, /[}\]][ \t\r]*$/.test(text) ? text.replace(/\r$/, "") : truncated];
}

function lineEvents(line: string): Event[] {
  if (line.length > maxMessageBytes) return [{ fault: "oversize", fatal: false }];
  return /^[ \t\r]*$/.test(line) ? [] : [textOf(Buffer.from(line, "latin1"))];
}

function naivePrefixed(bytes: Uint8Array, isEnded: boolean): Event[] {
  const events: Event[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; ) {
    if (at + 4 > bytes.length) return isEnded ? [...events, truncated] : events;
    const end = at + 4 + view.getUint32(at);
    if (end - at - 4 > maxMessageBytes) return [...events, { fault: "oversize", fatal: true }];
    if (end > bytes.length) return isEnded ? [...events, truncated] : events;
    events.push(textOf(bytes.subarray(at + 4, end)));
    at = end;
  }
  return events;
}

function naiveHeaders(bytes: Uint8Array, isEnded: boolean): Event[] {
  const events: Event[] = [];
  const text = Buffer.from(bytes).toString("latin1");
  for (let at = 0; at < text.length; ) {
    const names = new Set<string>();
    let length: number | undefined;
    let isForeign = false;
    for (let start = at; ; ) {
      const end = text.indexOf("\n", start) + 1;
      if ((end === 0 ? text.length : end) - at > 8_192) return [...events, malformed];
      if (end === 0) return isEnded ? [...events, truncated] : events;
      const line = text.slice(start, end).replace(/\r?\n$/, "");
      start = end;
      if (line === "") {
        at = end;
        break;
      }
      const [, name, value] = /^([!#$%&'*+.^_`|~0-9a-z-]+):(.*)$/is.exec(line) ?? [];
      if (name === undefined || value === undefined || names.has(name.toLowerCase()))
        return [...events, malformed];
      if (typeof textOf(Buffer.from(line, "latin1")) !== "string") return [...events, malformed];
      names.add(name.toLowerCase());
      if (name.toLowerCase() === "content-length") {
        if (!/^[ \t]*\d+[ \t]*$/.test(value)) return [...events, malformed];
        length = Number(value.trim());
      }
      if (name.toLowerCase() === "content-type") {
        isForeign = value
          .split(";")
          .some(
            (part) =>
              /^\s*charset\s*=/i.test(part) &&
              !/^\s*charset\s*=\s*"?utf-?8"?\s*(=.*)?$/is.test(part),
          );
      }
    }
    if (length === undefined) return [...events, malformed];
    const isLong = length > maxMessageBytes;
    if (isLong && length > maxMessageBytes * 64)
      return [...events, { fault: "oversize", fatal: true }];
    if (isLong) events.push({ fault: "oversize", fatal: false });
    else if (isForeign) events.push({ fault: "malformed", fatal: false });
    const isSkipped = isLong || isForeign;
    if (at + length > bytes.length) return isEnded && !isSkipped ? [...events, truncated] : events;
    if (!isSkipped) events.push(textOf(bytes.subarray(at, at + length)));
    at += length;
  }
  return events;
}

const bodies = [
  '{"a":1}',
  "",
  "[]",
  '["grüße"]',
  "null",
  " \t",
  "\ufeff{}",
  `["${"x".repeat(36)}"]`,
  `["${"x".repeat(37)}"]`,
  `"${"y".repeat(90)}"`,
  "🙂",
  "a\rb",
  "{}\r",
  "\u2028",
];

/** The bytes of a body, as Latin-1, sometimes not UTF-8. */
function body(random: Random): string {
  const text = Buffer.from(random.pick(bodies)).toString("latin1");
  if (!random.oneIn(8)) return text;
  const at = random.below(text.length + 1);
  return (
    text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + random.below(2))
  );
}

function line(random: Random): string {
  return body(random) + random.pick(["\n", "\r\n", "\n\n", "", "\r", "\r\r\n", " \n"]);
}

function prefixed(random: Random): string {
  const text = body(random);
  const length = random.oneIn(6) ? random.below(random.pick([8, 64, 0x1_0000_0000])) : text.length;
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(length);
  return prefix.toString("latin1").slice(random.oneIn(30) ? 1 : 0) + text;
}

const headers = [
  "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n",
  "content-type: a/b; charset=utf8\r\n",
  'Content-Type: a/b;charset="UTF-8"\r\n',
  "Content-Type: a/b; charset=latin1\r\n",
  "Content-Length: 3\r\n",
  "Content-Length: -1\r\n",
  "Content-Length:\t2 \r\n",
  "Content-Length: 0x2\r\n",
  "Content-Length: 99999999999999999999999\r\n",
  "Content-Length 3\r\n",
  "X-A: b\r\n",
  "x-a: \xe4\r\n",
  "X-A: b\n",
  ": b\r\n",
  "\r\n",
];

function headed(random: Random): string {
  const text = body(random);
  const length = random.oneIn(10) ? random.below(random.pick([8, 90, 3_000])) : text.length;
  const zeros = random.oneIn(30) ? "0".repeat(random.oneIn(20) ? 8_200 : random.pick([1, 20])) : "";
  const lines = [`${random.pick(["Content-Length", "content-length"])}: ${zeros}${length}\r\n`];
  if (random.oneIn(4)) lines.splice(random.below(2), 0, random.pick(headers));
  if (random.oneIn(20)) lines.splice(0, 1);
  if (random.oneIn(500)) lines.push(`X-B: ${"b".repeat(8_150 + random.below(30))}\r\n`);
  return (
    lines.join("") + (random.oneIn(20) ? random.pick(["\n", "", "\r", "\r\n\r\n"]) : "\r\n") + text
  );
}

export const newline = framingTarget(newlineFraming, line, naiveLines);
export const lengthPrefix = framingTarget(lengthPrefixFraming, prefixed, naivePrefixed);
export const contentLength = framingTarget(contentLengthFraming, headed, naiveHeaders);
