/** Reads multipart bodies, valid and broken, in pieces of any length; what is read must not depend on the pieces. */
import { isDeepStrictEqual } from "node:util";
import { MultipartError, MultipartReader } from "../../src/http/multipart-reader.ts";
import type { FuzzTarget, Random } from "./random.ts";

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

export const multipart: FuzzTarget = {
  async run(random, inputs) {
    const reached = { read: 0, refused: 0, parts: 0 };
    for (let i = 0; i < inputs; i++) {
      const parts = Array.from({ length: random.below(4) }, () => content(random));
      const isBroken = !random.oneIn(3);
      const body = Buffer.from(isBroken ? mutated(bodyOf(parts), random) : bodyOf(parts), "latin1");
      const whole = await read([body]);
      const pieces = await read(inPieces(body, random));
      const isWrong = !isBroken && parts.length > 0 && !isDeepStrictEqual(whole, parts);
      if (isWrong || !isDeepStrictEqual(whole, pieces)) {
        throw new Error(
          `read wrongly: ${JSON.stringify({ body: body.toString("latin1"), whole, pieces })}`,
        );
      }
      if (typeof whole === "string") reached.refused++;
      else {
        reached.read++;
        reached.parts += whole.length;
      }
    }
    return reached;
  },
};

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

/** Without the boundary, which a sender chooses so. */
function content(random: Random): string {
  let text = "";
  while (!random.oneIn(4)) {
    text += random.oneIn(3) ? String.fromCharCode(random.below(256)) : random.pick(snippets);
  }
  return text.replaceAll("b", "c");
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

function inPieces(body: Uint8Array, random: Random): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < body.length; ) {
    const length = random.oneIn(2) ? 1 : 1 + random.below(20);
    pieces.push(body.subarray(at, at + length));
    at += length;
  }
  return pieces;
}
