import type { Options } from "./command.ts";
import { Failure } from "./failure.ts";
import { isServerUrl } from "./link-from-url.ts";

/** The address that comes first; what a verb needs after it is up to the verb. */
export function addressFrom(verb: string, positionals: readonly string[]): [string, string[]] {
  const [url, ...rest] = positionals;
  if (url === undefined) {
    throw new Failure(`${verb} needs an address; see "callwire ${verb} --help"`);
  }
  if (!isServerUrl(url) && /^[\w.-]+(:\d+)?(\/|$)/.test(url)) {
    const hint = `did you mean ${JSON.stringify(`http://${url}`)}?`;
    throw new Failure(`${JSON.stringify(url)} is no address; ${hint}`);
  }
  return [url, rest];
}

/** The address, the method and the words of the params. */
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
  framing: {
    type: "string",
    value: "name",
    description: "newline, content-length or length-prefix, for stdio, TCP and unix",
  },
} as const satisfies Options;

export function framingOf(name = "newline", option = "--framing"): FramingName {
  const framing = framings.find((known) => known === name);
  if (framing !== undefined) return framing;
  throw new Failure(`${option} is ${framings.join(", ")}, not ${JSON.stringify(name)}`);
}

/** The port that a flag names. */
export function portOf(flag: string, text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new Failure(`${flag} is a number from 0 to 65535, not ${JSON.stringify(text)}`);
}
