import { tlsOptions } from "./client-tls.ts";
import { type Flags, flag, type Options, option } from "./command.ts";
import { framingOf, framingOption, timeoutOption } from "./command-arguments.ts";
import { Failure, invalid } from "./failure.ts";
import type { LinkOptions } from "./link-from-url.ts";
import { Terminal } from "./terminal.ts";
import { Transcript } from "./transcript.ts";

/** How to reach a server; shared by all verbs that call one. */
export const serverOptions = {
  header: option("name: value", "header to send; may be repeated", { short: "H", multiple: true }),
  bearer: option("token", "token to send, or @file to read it from"),
  ...tlsOptions,
  ...framingOption,
  timeout: timeoutOption(10),
} as const satisfies Options;

export const verboseOption = {
  verbose: flag("show all messages on standard error"),
} as const satisfies Options;

type ServerFlags = Pick<Flags<typeof serverOptions>, "header" | "bearer"> &
  Partial<Pick<Flags<typeof serverOptions>, "framing">>;

export function linkOptionsOf(flags: ServerFlags & { readonly verbose?: boolean | undefined }) {
  const headers = headersOf(flags.header ?? []);
  if (flags.bearer !== undefined) {
    if (hasAuthorization(headers))
      throw new Failure("--bearer cannot be combined with an authorization header; remove one");
    headers.authorization = `Bearer ${flags.bearer}`;
  }
  const framing = flags.framing === undefined ? undefined : framingOf(flags.framing);
  const transcript = flags.verbose ? new Transcript(new Terminal(process.stderr)) : undefined;
  return { headers, framing, transcript } satisfies LinkOptions;
}

export function hasAuthorization(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => isSame(name, "authorization"));
}

/** How to send a credential to a server that requires one. */
export function credentialAdvice(url: string): string {
  return /^(http|ws)s?:/.test(url) ? "; try --bearer or -H" : "";
}

function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw invalid("--header", '"name: value"', line);
    }
    const key = Object.keys(headers).find((given) => isSame(given, name)) ?? name;
    const before = headers[key];
    // HTTP joins repeated headers like this.
    const separator = isSame(key, "cookie") ? "; " : ", ";
    headers[key] = before === undefined ? value : before + separator + value;
  }
  return headers;
}

/** Header names are case-insensitive. */
function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
