import type { ConformanceCase, Outgoing, Text } from "./case.ts";

/** Methods of the server that some cases call, with params by position and by name. */
export interface ConformanceFixtures {
  /** Adds two numbers, `a` and `b`. @default "add" */
  readonly add: string;
  /** Returns its only param, `message`. @default "echo" */
  readonly echo: string;
  /** Throws an exception with the param `message` as its text. @default "trigger_error" */
  readonly fail: string;
}

/** The names in the demo server. */
export const demoFixtures: ConformanceFixtures = {
  add: "add",
  echo: "echo",
  fail: "trigger_error",
};

export type FixtureName = keyof ConformanceFixtures;

const fixture = /<(add|echo|fail)>/g;

/** The complete string, with the names of the server's methods filled in. */
export function written(text: Text, fixtures: ConformanceFixtures): string {
  const parts = typeof text === "string" ? [text] : text;
  return parts
    .map((part) =>
      typeof part === "string" ? named(part, fixtures) : part.repeat.repeat(part.times),
    )
    .join("");
}

function named(text: string, fixtures: ConformanceFixtures): string {
  return text.replace(fixture, (_, name: FixtureName) =>
    JSON.stringify(fixtures[name]).slice(1, -1),
  );
}

/** The fixtures that a case needs. */
export function fixturesOf({ exchanges }: ConformanceCase): ReadonlySet<FixtureName> {
  const found = new Set<FixtureName>();
  for (const { send } of exchanges) {
    for (const [, name] of JSON.stringify(send).matchAll(fixture)) found.add(name as FixtureName);
  }
  return found;
}

/** One byte per character. */
export function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

const longest = 300;

/** What is sent, for reports: long repetitions are abbreviated. */
export function shown(send: Outgoing, fixtures: ConformanceFixtures): string {
  switch (send.kind) {
    case "message":
    case "raw":
      return shortened(shownText(send.text, fixtures));
    case "pieces":
      return `${shortened(send.messages.join(" "))} in ${pieceCount(send.pieces)}`;
    case "frame":
      return `${send.text} as ${send.form === "binary" ? "a binary frame" : "fragments"}`;
    case "request": {
      const headers = Object.entries(send.headers).map(
        ([name, value]) => ` ${name}: ${value ?? "(none)"}`,
      );
      return shortened(
        `${send.verb}${headers.join(",")}${send.body === "" ? "" : ` ${named(send.body, fixtures)}`}`,
      );
    }
    case "handshake": {
      const headers = Object.entries(send.headers).map(([name, value]) => `${name}: ${value}`);
      return `a WebSocket handshake with ${headers.join(", ")}`;
    }
  }
}

function pieceCount(pieces: number): string {
  return pieces === 1 ? "one write" : `up to ${pieces} writes`;
}

function shownText(text: Text, fixtures: ConformanceFixtures): string {
  const parts = typeof text === "string" ? [text] : text;
  return parts
    .map((part) =>
      typeof part === "string" ? named(part, fixtures) : `«${part.times} × ${part.repeat}»`,
    )
    .join("");
}

/** One line for a report: shortened, with control characters escaped. */
export function shortened(text: string): string {
  const cut =
    text.length > longest ? `${text.slice(0, longest)} … (${text.length} characters)` : text;
  return cut.replace(/\p{Cc}/gu, (control) => {
    if (control === "\n") return "\\n";
    if (control === "\r") return "\\r";
    return control === "\t" ? "\\t" : `\\x${control.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}
