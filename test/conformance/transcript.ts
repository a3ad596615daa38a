/**
 * Transcripts of the wire: what is sent, and what must come back. They say nothing about a wire,
 * so every wire runs the same ones.
 *
 *     # A comment.
 *     profile: default
 *
 *     A sentence is the title of an exchange
 *     --> {"jsonrpc":"2.0","method":"echo","params":["hi"],"id":1}
 *     <-- {"jsonrpc":"2.0","result":"hi","id":1}
 *
 * - `profile:` names the server (profiles.ts) that hears what follows.
 * - `-->` is sent as it stands.
 * - `<--` is the same JSON value: members and the entries of a batch in any order; an error may
 *   have data that the transcript does not mention; "..." stands for any value.
 * - `<==` is the same text, byte for byte.
 * - `<-- nothing` means that no answer comes.
 * - An indented line goes on with the line before it.
 * - repeat(3, `ab`) stands for ababab.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type ProfileName, profileNames } from "./profiles.ts";

export interface Turn {
  readonly sent: string;
  /** Undefined if no answer may come. */
  readonly reply: { readonly text: string; readonly exact: boolean } | undefined;
}

export interface Exchange<Name extends string = ProfileName> {
  readonly title: string;
  readonly profile: Name;
  readonly turns: readonly Turn[];
}

export interface Transcript<Name extends string = ProfileName> {
  readonly topic: string;
  readonly exchanges: readonly Exchange<Name>[];
}

/**
 * Sends one payload and returns its answer, or undefined once it is certain that none will come. An
 * answer that is due is awaited, however many other messages arrive before it.
 */
export type Send = (
  text: string,
  isDue: boolean,
) => string | undefined | Promise<string | undefined>;

export interface RunOptions {
  /** Titles of exchanges that this wire cannot carry unchanged. */
  readonly except?: readonly string[];
}

/** Makes a test of each exchange with this profile; `send` reaches a server of that profile. */
export function runTranscripts(
  send: Send,
  profile: ProfileName,
  { except = [] }: RunOptions = {},
): void {
  const known = new Set(
    transcripts.flatMap(({ exchanges }) => exchanges.map(({ title }) => title)),
  );
  for (const title of except) {
    if (!known.has(title)) throw new Error(`No transcript has the exchange "${title}"`);
  }
  for (const { topic, exchanges } of transcripts) {
    const ours = exchanges.filter(
      (exchange) => exchange.profile === profile && !except.includes(exchange.title),
    );
    if (ours.length === 0) continue;
    describe(`${topic} (${profile})`, () => {
      for (const { title, turns } of ours) {
        test(title, async () => {
          for (const { sent, reply } of turns) {
            expectReply(await send(sent, reply !== undefined), reply);
          }
        });
      }
    });
  }
}

export function expectReply(actual: string | undefined, expected: Turn["reply"]): void {
  if (expected === undefined || actual === undefined || expected.exact) {
    expect(actual).toBe(expected?.text);
    return;
  }
  const wanted: unknown = JSON.parse(expected.text);
  expect(comparable(JSON.parse(actual), wanted)).toEqual(sorted(wanted));
}

/** The actual value without what the expected one leaves open. */
function comparable(actual: unknown, wanted: unknown): unknown {
  const reply = sorted(actual);
  const model = sorted(wanted);
  if (!Array.isArray(reply) || !Array.isArray(model)) return without(reply, model);
  return reply.map((entry, i) => without(entry, model[i]));
}

/** The answers of a batch come in any order, so both sides are sorted. */
function sorted(payload: unknown): unknown {
  if (!Array.isArray(payload)) return payload;
  const key = (reply: { id?: unknown; error?: { code?: unknown } } | null) =>
    JSON.stringify([reply?.id, reply?.error?.code ?? null]);
  return payload.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

function without(actual: unknown, wanted: unknown): unknown {
  if (wanted === "...") return "...";
  if (!isObject(actual) || !isObject(wanted)) return actual;
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(actual)) {
    const open = name === "data" && typeof wanted["code"] === "number" && !("data" in wanted);
    if (!open) kept[name] = without(value, wanted[name]);
  }
  return kept;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function parseTranscript<Name extends string = ProfileName>(
  topic: string,
  source: string,
  names: readonly Name[] = profileNames as readonly string[] as readonly Name[],
): Transcript<Name> {
  const exchanges: { title: string; profile: Name; turns: Turn[] }[] = [];
  let profile: Name | undefined;
  let sent: string | undefined;
  for (const { line, number } of logicalLines(source)) {
    const fault = (sentence: string) => new Error(`${topic}.txt:${number}: ${sentence}`);
    const [, arrow, rest = ""] = /^(-->|<--|<==)(?: (.*))?$/.exec(line) ?? [];
    const text = expand(rest);
    if (arrow === "-->") {
      if (sent !== undefined) throw fault("nothing says how the line above is answered");
      if (exchanges.length === 0) throw fault("an exchange begins with its title");
      sent = text;
    } else if (arrow !== undefined) {
      if (sent === undefined) throw fault("nothing was sent");
      const reply = text === "nothing" ? undefined : { text, exact: arrow === "<==" };
      if (reply !== undefined && !reply.exact) JSON.parse(text);
      exchanges.at(-1)?.turns.push({ sent, reply });
      sent = undefined;
    } else if (sent !== undefined) {
      throw fault("nothing says how the line above is answered");
    } else if (line.startsWith("profile: ")) {
      profile = names.find((name) => name === line.slice("profile: ".length));
      if (profile === undefined) throw fault("there is no such profile");
    } else {
      if (profile === undefined) throw fault("no profile was named");
      if (!/^[A-Z0-9"].*[^.]$/.test(line)) throw fault("a title is a sentence without a full stop");
      if (exchanges.at(-1)?.turns.length === 0) throw fault("the title above has no exchange");
      if (exchanges.some(({ title }) => title === line)) throw fault("this title stands twice");
      exchanges.push({ title: line, profile, turns: [] });
    }
  }
  if (sent !== undefined || exchanges.at(-1)?.turns.length === 0) {
    throw new Error(`${topic}.txt ends within an exchange`);
  }
  if (exchanges.length === 0) throw new Error(`${topic}.txt has no exchange`);
  return { topic, exchanges };
}

function logicalLines(source: string): { line: string; number: number }[] {
  const lines: { line: string; number: number }[] = [];
  for (const [index, raw] of source.split("\n").entries()) {
    const line = raw.trimEnd();
    const last = lines.at(-1);
    if (line === "" || line.startsWith("#")) continue;
    if (!line.startsWith("  ")) lines.push({ line, number: index + 1 });
    else if (last !== undefined) last.line += ` ${line.trimStart()}`;
    else throw new Error(`line ${index + 1} goes on with nothing`);
  }
  return lines;
}

/** A text with its `repeat(…)` expanded. */
export function expand(text: string): string {
  return text.replace(/repeat\((\d+), `([^`]*)`\)/g, (_, count, part) =>
    String(part).repeat(Number(count)),
  );
}

const folder = new URL("./", import.meta.url);

export const transcripts: readonly Transcript[] = readdirSync(folder)
  .filter((name) => name.endsWith(".txt"))
  .map((name) =>
    parseTranscript(name.replace(/\.txt$/, ""), readFileSync(new URL(name, folder), "utf8")),
  );
