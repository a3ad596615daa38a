import { isDeepStrictEqual } from "node:util";
import { MultipartError, MultipartReader } from "../../../src/http/multipart-reader.ts";
import { cut, pieceLengths } from "../json.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";

const snippets = [
  "--b",
  "\r\n",
  "--",
  "\r",
  "\n",
  "\r\n--b",
  "\r\n\r\n",
  "x",
  "A: b",
  "--b--",
  "\r\n--",
];

interface Input {
  /** The content of a valid body; undefined if the body may be invalid. */
  readonly parts?: readonly string[];
  readonly body: string;
  readonly pieces: readonly number[];
}

export const multipart = fuzzTarget<Input>({
  holds:
    "the parts of a valid body are read as they were written; of any body the same is read, however it is cut",
  briefly: 7_000,
  reaches: ["read", "refused"],
  generate(random) {
    const parts = random.some(4, () => content(random));
    const pieces = pieceLengths(random);
    const body = bodyOf(parts);
    return parts.length === 0 || random.oneIn(2)
      ? { body: mutated(body, random), pieces }
      : { parts, body, pieces };
  },
  async check({ parts, body, pieces }) {
    const bytes = Buffer.from(body, "latin1");
    const whole = await read([bytes]);
    const cutUp = await read(cut(bytes, pieces));
    const isWrong = parts !== undefined && !isDeepStrictEqual(whole, parts);
    if (isWrong || !isDeepStrictEqual(whole, cutUp)) broken("read wrongly", { whole, cutUp });
    return typeof whole === "string" ? "refused" : "read";
  },
});

/** The parts, or the sentence that refuses the body. */
async function read(pieces: readonly Uint8Array[]): Promise<readonly string[] | string> {
  const left = [...pieces];
  const reader = new MultipartReader({ read: async () => left.shift(), cancel() {} }, "b");
  const parts: string[] = [];
  try {
    while (await reader.next()) {
      let part = "";
      for (let chunk = await reader.chunk(); chunk; chunk = await reader.chunk()) {
        part += Buffer.from(chunk).toString("latin1");
      }
      parts.push(part);
    }
    return parts;
  } catch (error) {
    if (error instanceof MultipartError) return error.message;
    throw error;
  }
}

/** Does not contain the boundary, because senders choose it that way. */
function content(random: Random): string {
  const texts = random.some(8, () =>
    random.oneIn(3) ? String.fromCharCode(random.below(256)) : random.pick(snippets),
  );
  return texts.join("").replaceAll("b", "c");
}

function bodyOf(parts: readonly string[]): string {
  return `${parts.map((part) => `--b\r\nA: b\r\n\r\n${part}\r\n`).join("")}--b--\r\n`;
}

function mutated(body: string, random: Random): string {
  let text = body;
  do {
    const at = random.below(text.length + 1);
    const removed = random.below(4);
    const added = random.oneIn(2) ? random.pick(snippets) : "";
    text = text.slice(0, at) + added + text.slice(at + removed);
  } while (random.oneIn(2));
  return text;
}
