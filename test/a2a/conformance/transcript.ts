/** Reads and plays transcripts of A2A: requests that are sent, and replies that are expected. */

import { readdirSync, readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { Parsed } from "../served-agent.ts";

/** A rule of the specification, with the messages that show it. */
export interface Case {
  readonly level: "MUST" | "SHOULD" | "MAY";
  readonly title: string;
  /** The card of the agent. */
  readonly card: string;
  readonly lines: readonly string[];
}

/** All cases of the `.txt` files beside this one. */
export function readCases(): Case[] {
  const folder = new URL(".", import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith(".txt"));
  return files.flatMap((file) => {
    const cases: { level: Case["level"]; title: string; card: string; lines: string[] }[] = [];
    let card = "all";
    for (const line of readFileSync(fileURLToPath(new URL(file, folder)), "utf8").split("\n")) {
      const [, level, title] = /^## (MUST|SHOULD|MAY) (.+)$/.exec(line) ?? [];
      const [, named] = /^card (\S+)$/.exec(line) ?? [];
      if (named !== undefined) card = named;
      else if (level !== undefined && title !== undefined)
        cases.push({ level: level as Case["level"], title, card, lines: [] });
      else if (line !== "" && !line.startsWith("# ")) cases.at(-1)?.lines.push(line);
    }
    return cases;
  });
}

/** A notification that the webhook `$hook` received. */
export interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: Parsed;
}

/** Where a transcript is played. */
export interface Stage {
  readonly base: string;
  /** The address of the webhook. */
  readonly hook: string;
  /** Resolves to the next notification. */
  delivered(): Promise<Delivery>;
  /** Lets tasks continue that wait for it. */
  release(): void;
}

let messages = 0;

/**
 * Plays one case: `-->` is sent, `<--` must come back. `as` names the last reply, `on` reads that reply again, and
 * `leave` closes it.
 */
export async function play({ lines }: Case, stage: Stage): Promise<void> {
  const { base, hook, release, delivered } = stage;
  const names = new Map<string, unknown>([["hook", hook]]);
  const replies = new Map<string, Reply>();
  let headers: Record<string, string> = {};
  let query = "";
  let reply: Reply | undefined;
  let delivery: Delivery | undefined;
  for (const line of lines) {
    const [, word = "", rest = ""] = /^(\S+) ?(.*)$/.exec(line) ?? [];
    if (word === "header") {
      const [name = "", value = ""] = rest.split(/: (.*)/);
      headers[name] = filled(value, names);
    } else if (word === "query") query = `?${rest}`;
    else if (word === "release") release();
    else if (word === "as") replies.set(rest, reply as Reply);
    else if (word === "on") reply = replies.get(rest);
    else if (word === "leave") await reply?.close();
    else if (rest.startsWith("hook ")) {
      delivery = await delivered();
      matches(delivery.body, JSON.parse(filled(rest.slice(5), names)), names, "");
    } else if (rest.startsWith("hook-header ")) {
      const [name = "", pattern = ""] = rest.slice(12).split(/: (.*)/);
      expect(String(delivery?.headers[name])).toMatch(new RegExp(pattern));
    } else if (word === "-->") {
      const [, verb = "", text = ""] = /^(\S+) ?(.*)$/.exec(rest) ?? [];
      reply = await sent(base, verb, filled(text, names), headers, query);
      headers = {};
      query = "";
    } else if (word === "<--") await check(reply as Reply, rest, names);
    else throw new Error(`a transcript cannot have the line ${line}`);
  }
  for (const open of [reply, ...replies.values()]) await open?.close();
}

/** Inserts values that were named before, and completes messages. */
function filled(text: string, names: ReadonlyMap<string, unknown>): string {
  const message = (_: string, prefix: string, more = "{}"): string => {
    const parts = [{ text: "hi" }];
    const own = { messageId: `${prefix}-${++messages}`, role: "ROLE_USER", parts };
    return JSON.stringify({ ...own, ...JSON.parse(more) });
  };
  return text
    .replace(/\$(\w+)/g, (whole, name) => (names.has(name) ? String(names.get(name)) : whole))
    .replace(/msg\(([\w-]+)(?:, (\{.*?\}))?\)/g, message);
}

interface Reply {
  readonly response: Response;
  /** The next event, or the body if it is JSON; undefined at the end. */
  next(): Promise<Parsed>;
  close(): Promise<unknown>;
}

async function sent(
  base: string,
  verb: string,
  text: string,
  headers: Record<string, string>,
  query: string,
): Promise<Reply> {
  const isCard = verb === "GET";
  const version: Record<string, string> = query === "" ? { "a2a-version": "1.0" } : {};
  const body = verb === "raw" ? text : rpc(verb, text);
  const response = isCard
    ? await fetch(base + text, { headers })
    : await fetch(`${base}/a2a${query}`, {
        method: "POST",
        body,
        headers: { "content-type": "application/json", ...version, ...headers },
      });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const values = isStream ? events(response) : whole(response);
  return {
    response,
    next: async () => (await values.next()).value,
    close: () => values.return(undefined),
  };
}

function rpc(method: string, params: string): string {
  return `{"jsonrpc":"2.0","id":"one","method":"${method}","params":${params || "{}"}}`;
}

async function* whole(response: Response): AsyncGenerator<Parsed> {
  const text = await response.text();
  if (text !== "") yield JSON.parse(text);
}

async function* events(response: Response): AsyncGenerator<Parsed> {
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      if (event.startsWith("data: ")) yield JSON.parse(event.slice(6));
    }
  }
}

/** What a line expects: a result, an event, an error, a header, a status, or the end. */
async function check(reply: Reply, rest: string, names: Map<string, unknown>): Promise<void> {
  const [, word = "", text = ""] = /^(\S+) ?(.*)$/.exec(rest) ?? [];
  const { response } = reply;
  if (word === "status") return expect(response.status).toBe(Number(text));
  if (word === "header") {
    const [name = "", pattern = ""] = text.split(/: (.*)/);
    const value = response.headers.get(name) ?? "";
    expect(value).toMatch(new RegExp(pattern));
    for (const each of Object.entries(new RegExp(pattern).exec(value)?.groups ?? {}))
      names.set(...each);
    return;
  }
  if (word === "end") return expect(await reply.next()).toBeUndefined();
  const value = await reply.next();
  if (word === "error") {
    const [code, reason, ...others] = text.split(" ");
    expect(value?.error?.code, JSON.stringify(value)).toBe(Number(code));
    expect(typeof value.error.message).toBe("string");
    if (others.length > 0) expect(value).toMatchObject(JSON.parse(others.join(" ")));
    if (reason === undefined || reason === "-") return;
    const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason };
    expect(value.error.data[0]).toMatchObject({ ...info, domain: "a2a-protocol.org" });
    return;
  }
  if (word === "without") {
    for (const name of text.split(" ")) expect(value.result ?? value).not.toHaveProperty(name);
    return;
  }
  if (word === "body") return matches(value, JSON.parse(text), names, "");
  // Events are responses too, with the id of the request.
  if (word === "event" || word === "result")
    expect(value, JSON.stringify(value)).toMatchObject({ jsonrpc: "2.0", id: "one" });
  matches(value.result, JSON.parse(filled(text, names)), names, "");
}

/** In the format of times in A2A. */
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Every expected member must be there; `$name` names the value found there, `$any` accepts any
 * value, `$time` a time.
 */
function matches(value: Parsed, expected: Parsed, names: Map<string, unknown>, path: string): void {
  if (typeof expected === "string" && /^\$\w+$/.test(expected)) {
    expect(value, `${path} is missing`).toBeDefined();
    if (expected === "$time") expect(value, path).toMatch(time);
    else if (expected !== "$any") names.set(expected.slice(1), value);
  } else if (Array.isArray(expected)) {
    expect(value, path).toHaveLength(expected.length);
    for (const [i, each] of expected.entries()) matches(value[i], each, names, `${path}[${i}]`);
  } else if (typeof expected === "object" && expected !== null) {
    expect(value, path).toBeTypeOf("object");
    for (const [name, each] of Object.entries(expected))
      matches(value[name], each, names, `${path}.${name}`);
  } else expect(value, path).toEqual(expected);
}
