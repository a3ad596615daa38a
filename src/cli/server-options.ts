import type { Flags, Options } from "./command.ts";
import { framingOf, framingOption } from "./command-arguments.ts";
import { Failure } from "./failure.ts";
import type { LinkOptions } from "./link-from-url.ts";
import { Terminal } from "./terminal.ts";
import { Transcript } from "./transcript.ts";

/** How a server is reached; the same for all verbs that speak to one. */
export const serverOptions = {
  header: {
    type: "string",
    short: "H",
    value: "name: value",
    multiple: true,
    description: "send this header; may be given again",
  },
  bearer: { type: "string", value: "token", description: "send this token as authorization" },
  ...framingOption,
  timeout: {
    type: "string",
    value: "ms",
    description: "wait so long for an answer (default 10000)",
  },
} as const satisfies Options;

export const verboseOption = {
  verbose: { type: "boolean", description: "show the messages both ways, on stderr" },
} as const satisfies Options;

type ServerFlags = Flags<typeof serverOptions>;

export function linkOptionsOf(flags: ServerFlags & { readonly verbose?: boolean | undefined }) {
  const headers = headersOf(flags.header ?? []);
  if (flags.bearer !== undefined) {
    if (Object.keys(headers).some((name) => isSame(name, "authorization")))
      throw new Failure("--bearer is an authorization header, and --header gives another");
    headers.authorization = `Bearer ${flags.bearer}`;
  }
  const framing = flags.framing === undefined ? undefined : framingOf(flags.framing);
  const transcript = flags.verbose ? new Transcript(new Terminal(process.stderr)) : undefined;
  return { headers, framing, transcript } satisfies LinkOptions;
}

/** What to do about a server that lets nobody in without a credential. */
export function credentialAdvice(url: string): string {
  return /^(http|ws)s?:/.test(url) ? "; try --bearer or -H" : "";
}

function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new Failure(`--header is "name: value", not ${JSON.stringify(line)}`);
    }
    const key = Object.keys(headers).find((given) => isSame(given, name)) ?? name;
    const before = headers[key];
    // As HTTP joins what comes in several lines.
    const between = isSame(key, "cookie") ? "; " : ", ";
    headers[key] = before === undefined ? value : before + between + value;
  }
  return headers;
}

/** Names of headers are the same however they are written. */
function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

export function timeoutOf(text = "10000"): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new Failure(`--timeout is a number of milliseconds, not ${JSON.stringify(text)}`);
}

/** A flag that counts something. */
export function countOf(flag: string, text: string | undefined, usual: number): number {
  if (text === undefined) return usual;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new Failure(`${flag} is a whole number of at least 1, not ${JSON.stringify(text)}`);
}
