import {
  type McpHttpLinkOptions,
  type McpWire,
  mcpHttpLink,
  mcpStdioLink,
} from "callwire/mcp/client";
import { Failure } from "../failure.ts";
import { mustBeHttpHeaders, withoutLastWords, wordsOf } from "../link-from-url.ts";

export type WireOptions = Pick<McpHttpLinkOptions, "tap" | "authorization"> & {
  readonly headers: Readonly<Record<string, string>>;
};

/** The way to the MCP server that an address names. */
export function wireFrom(url: string, { headers, tap, authorization }: WireOptions): McpWire {
  if (/^https?:\/\//.test(url)) {
    mustBeHttpHeaders(headers);
    return mcpHttpLink(url, { headers, tap, authorization });
  }
  const [, line = ""] = /^stdio:(.*)$/s.exec(url) ?? [];
  const [program, ...args] = wordsOf(line);
  if (program === undefined) {
    throw new Failure(
      `${JSON.stringify(url)} is no address of MCP; those are http://, https:// or stdio:command`,
    );
  }
  if (Object.keys(headers).length > 0) throw new Failure("a program takes no headers");
  const voice = new ProgramVoice((text) => process.stderr.write(text));
  return mcpStdioLink(program, args, {
    reconnect: false,
    stderr: voice.hear,
    wrapChannel: withoutLastWords,
    tap(text, direction) {
      voice[direction]();
      tap?.(text, direction);
    },
  });
}

/** More than this of what a program said is not compared. */
const mostCharacters = 65_536;

/**
 * What a program says on standard error, shown as it comes. One that dies of the first request is started once
 * more and asked in the old way; what it only repeats then is not shown again.
 */
export class ProgramVoice {
  readonly #decoder = new TextDecoder();
  readonly #show: (text: string) => void;
  #said = "";
  /** What it said before it was asked again, as far as it has not said it again. */
  #before = "";
  #repeated = "";
  #requests = 0;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  readonly hear = (chunk: Uint8Array): void => {
    const text = this.#decoder.decode(chunk, { stream: true });
    if (this.#before.startsWith(text)) {
      this.#before = this.#before.slice(text.length);
      this.#repeated += text;
      return;
    }
    const whole = this.#repeated + text;
    this.#repeated = this.#before = "";
    if (this.#said.length < mostCharacters) this.#said += whole;
    this.#show(whole);
  };

  /** The second request before any answer goes to a program that was started again, or is slow. */
  sent(): void {
    if (++this.#requests === 2) this.#before = this.#said;
  }

  /** It has answered, so that it is not started again for an answer. */
  received(): void {
    this.#requests = Number.POSITIVE_INFINITY;
    this.#before = "";
  }
}
