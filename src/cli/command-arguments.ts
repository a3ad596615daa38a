import { type Options, option } from "./command.ts";
import { durationOf } from "./durations.ts";
import { Failure, invalid } from "./failure.ts";
import { isServerUrl, notAnAddress } from "./link-from-url.ts";

/** The only argument of a verb; `what` names it with its article, such as "a module". */
export function onlyArgument(verb: string, what: string, positionals: readonly string[]): string {
  const [argument, extra] = positionals;
  if (argument === undefined)
    throw new Failure(`${verb} needs ${what}; see "callwire ${verb} --help"`);
  refuseExtra(verb, extra);
  return argument;
}

export function onlyAddress(verb: string, positionals: readonly string[]): string {
  const [url, [extra]] = addressFrom(verb, positionals);
  refuseExtra(verb, extra);
  return url;
}

export function refuseExtra(verb: string, extra: string | undefined): void {
  if (extra === undefined) return;
  throw new Failure(`unexpected argument ${JSON.stringify(extra)}; see "callwire ${verb} --help"`);
}

/** The address, which comes first, and the arguments after it. */
export function addressFrom(verb: string, positionals: readonly string[]): [string, string[]] {
  const [url, ...rest] = positionals;
  if (url === undefined) {
    throw new Failure(`${verb} needs an address; see "callwire ${verb} --help"`);
  }
  if (!isServerUrl(url) && /^[\w.-]+(:\d+)?(\/|$)/.test(url)) {
    throw notAnAddress(url, `; did you mean ${JSON.stringify(`http://${url}`)}?`);
  }
  return [url, rest];
}

export function targetFrom(
  verb: string,
  positionals: readonly string[],
): { url: string; method: string; words: string[] } {
  const [url, [method, ...words]] = addressFrom(verb, positionals);
  if (method === undefined) {
    throw new Failure(`${verb} needs a method after the address; see "callwire ${verb} --help"`);
  }
  return { url, method, words };
}

export const framings = ["newline", "content-length", "length-prefix"] as const;
export type FramingName = (typeof framings)[number];

export const framingOption = {
  framing: option("name", framings.join(", "), { values: framings }),
} as const satisfies Options;

export function framingOf(name = "newline", option = "--framing"): FramingName {
  const framing = framings.find((known) => known === name);
  if (framing !== undefined) return framing;
  throw invalid(option, `${oneOf(framings)}`, name);
}

/** `a, b or c`. */
export function oneOf(names: readonly string[]): string {
  return names.join(", ").replace(/, ([^,]*)$/, " or $1");
}

export function portOf(option: string, text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw invalid(option, "an integer between 0 and 65535", text);
}

export function timeoutOption(seconds: number) {
  return option("time", `limit for each reply, such as 5s (default ${seconds}s)`);
}

export function timeoutOf(text = "10s"): number {
  return durationOf("--timeout", text);
}

export function countOf(option: string, text: string | undefined, usual: number): number {
  if (text === undefined) return usual;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw invalid(option, "an integer of at least 1", text);
}

/** Refuses an empty value, such as that of a shell variable that is not set. */
export function notEmpty(option: string, text: string): string {
  if (text.trim() !== "") return text;
  throw new Failure(`${option} needs a value`);
}

export function commaSeparated(text: string): string[] {
  const parts = text.split(",").map((part) => part.trim());
  return parts.filter((part) => part !== "");
}
