/**
 * Transcripts of several messages about one call: items, credit and frames of bytes, and whole HTTP requests. They are
 * written like those of single messages, except that
 *
 * - any number of lines may be sent or received, one after the other;
 * - `bytes 00 0000 0001` is a frame of bytes in hexadecimal digits;
 * - over HTTP, `>` and `<` are the lines of a request and of its response, before it is compressed.
 */
import { readFileSync } from "node:fs";
import { expand } from "./transcript.ts";

export interface Line {
  readonly isSent: boolean;
  readonly text: string;
}

export interface Conversation {
  readonly title: string;
  readonly lines: readonly Line[];
}

/** The conversations of a file in this folder. */
export function conversationsOf(file: string): readonly Conversation[] {
  const conversations: { title: string; lines: Line[] }[] = [];
  for (const line of readFileSync(new URL(file, import.meta.url), "utf8").split("\n")) {
    const [, arrow, text = ""] = /^(-->|<--|>|<)(?: (.*))?$/.exec(line) ?? [];
    const last = conversations.at(-1);
    if (arrow !== undefined) last?.lines.push({ isSent: arrow.endsWith(">"), text: expand(text) });
    else if (line !== "" && !line.startsWith("#")) conversations.push({ title: line, lines: [] });
  }
  if (conversations.length === 0) throw new Error(`${file} has no conversation`);
  for (const { title, lines } of conversations) {
    if (!lines[0]?.isSent || lines.every(({ isSent }) => isSent))
      throw new Error(`${file}: "${title}" is not whole`);
  }
  return conversations;
}

/** The bytes of a frame, or undefined for a message. */
export function frameIn(text: string): Uint8Array | undefined {
  const [, digits] = /^bytes([ 0-9a-f]*)$/.exec(text) ?? [];
  return digits === undefined ? undefined : Buffer.from(digits.replaceAll(" ", ""), "hex");
}
