import { EventStreamDecoder, eventText } from "../../../src/http/event-stream.ts";
import { WireError } from "../../../src/protocol/errors.ts";
import { cut, pieceLengths } from "../json.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";

/** No event of the generator is longer, unless it is meant to be. */
const maxLength = 200;

interface Event {
  readonly data: string;
  readonly id: string;
}

interface Read {
  readonly events: readonly Event[];
  readonly lastId: string;
  readonly retryMs: number | undefined;
  readonly isRefused: boolean;
}

export const eventStream = fuzzTarget<{ bytes: string; pieces: number[] }>({
  holds:
    "events, ids and the time to reconnect are those of a naive reader of the whole stream, however its bytes are cut; an event that is too long is refused",
  briefly: 9_000,
  reaches: ["read", "refused"],
  generate: (random) => ({ bytes: streamBytes(random), pieces: pieceLengths(random) }),
  check({ bytes, pieces }) {
    const all = Buffer.from(bytes, "latin1");
    const given = read(cut(all, pieces));
    const wanted = naive(all);
    if (wanted === undefined) {
      if (!given.isRefused) broken("bytes that are not UTF-8 were accepted", given);
      return "refused";
    }
    // The length of an event may be counted while it arrives, so only the order of magnitude is certain.
    if (given.isRefused) {
      if (!wanted.isLong) broken("a short event was refused", { given, wanted });
      return "refused";
    }
    const { isLong: _, ...facts } = wanted;
    if (JSON.stringify({ ...given }) !== JSON.stringify({ ...facts, isRefused: false })) {
      broken("read differently", { given, wanted });
    }
    if (given.events.some(({ data }) => data.length > maxLength))
      broken("an event is too long", given);
    return "read";
  },
});

function read(pieces: readonly Uint8Array[]): Read {
  const events: Event[] = [];
  const decoder = new EventStreamDecoder(maxLength);
  let isRefused = false;
  try {
    for (const piece of pieces)
      decoder.push(piece, ({ data, id }) => void events.push({ data, id }));
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    isRefused = true;
  }
  return { events, lastId: decoder.lastId, retryMs: decoder.retryMs, isRefused };
}

/** As described in the HTML standard, with all bytes available; undefined if they are not UTF-8. */
function naive(bytes: Uint8Array): (Omit<Read, "isRefused"> & { isLong: boolean }) | undefined {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
  const events: Event[] = [];
  let [data, id, lastId]: [string[], string, string] = [[], "", ""];
  let retryMs: number | undefined;
  let length = 0;
  let isLong = false;
  const lines = text.split(/\r\n|\r|\n/);
  for (const [i, line] of lines.entries()) {
    length += line.length;
    isLong ||= length > maxLength;
    // The last line has not ended.
    if (i === lines.length - 1) break;
    if (line === "") {
      lastId = id;
      if (data.length > 0) events.push({ data: data.join("\n"), id });
      data = [];
      length = 0;
      continue;
    }
    const [, name = line, value = ""] = /^([^:]*): ?(.*)$/su.exec(line) ?? [];
    if (name === "data") data.push(value);
    else if (name === "id" && !value.includes("\0")) id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) retryMs = Number(value);
  }
  return { events, lastId, retryMs, isLong };
}

const lines = [
  "data: a",
  "data:b",
  "data",
  "data:  two",
  'data: {"jsonrpc":"2.0","result":1,"id":1}',
  "data: grüße 🙂",
  "id: 7",
  "id:",
  "id: a\0b",
  "retry: 100",
  "retry: -1",
  "retry: 1e3",
  ": comment",
  "event: message",
  ":",
  "Data: no",
  " data: no",
  "data : no",
  "",
  "",
  "",
  `data: ${"x".repeat(150)}`,
  `: ${"x".repeat(150)}`,
  "\ufeffdata: mark",
];

function streamBytes(random: Random): string {
  let text = random.oneIn(20) ? "\ufeff" : "";
  for (let i = random.below(12); i > 0; i--) {
    text += random.oneIn(6)
      ? eventText("[1]", random.oneIn(2) ? "9" : undefined)
      : random.pick(lines) + random.pick(["\n", "\r\n", "\r", "\n\n", "\r\r", "\r\n\r\n"]);
  }
  if (random.oneIn(4)) text += random.pick(lines);
  const bytes = Buffer.from(text).toString("latin1");
  if (!random.oneIn(6)) return bytes;
  const at = random.below(bytes.length + 1);
  return (
    bytes.slice(0, at) + String.fromCharCode(random.below(256)) + bytes.slice(at + random.below(3))
  );
}
