import {
  type McpHttpLinkOptions,
  type McpWire,
  mcpHttpLink,
  mcpStdioLink,
} from "callwire/mcp/client";
import { Failure } from "../failure.ts";
import { checkHttpHeaders, splitWords, withoutStderrInError } from "../link-from-url.ts";

export type WireOptions = Pick<McpHttpLinkOptions, "tap" | "authorization"> & {
  readonly headers: Readonly<Record<string, string>>;
};

export function wireFrom(url: string, { headers, tap, authorization }: WireOptions): McpWire {
  if (/^https?:\/\//.test(url)) {
    checkHttpHeaders(headers);
    return mcpHttpLink(url, { headers, tap, authorization });
  }
  const [, line = ""] = /^stdio:(.*)$/s.exec(url) ?? [];
  const [program, ...args] = splitWords(line);
  if (program === undefined) {
    throw new Failure(
      `${JSON.stringify(url)} is not an MCP address; use http://, https:// or stdio:command`,
    );
  }
  if (Object.keys(headers).length > 0)
    throw new Failure("--header and --bearer do not work with stdio: addresses");
  const relay = new StderrRelay((text) => process.stderr.write(text));
  return mcpStdioLink(program, args, {
    reconnect: false,
    stderr: relay.write,
    wrapChannel: withoutStderrInError,
    tap(text, direction) {
      relay[direction]();
      tap?.(text, direction);
    },
  });
}

/** Limit for the remembered stderr. */
const mostCharacters = 65_536;

/**
 * Shows the stderr of a program. A program that exits on the first request is restarted with the legacy
 * handshake; output that it repeats is not shown again.
 */
class StderrRelay {
  readonly #decoder = new TextDecoder();
  readonly #show: (text: string) => void;
  #shown = "";
  /** The rest of the earlier output that may be repeated. */
  #expected = "";
  #repeated = "";
  #requests = 0;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  readonly write = (chunk: Uint8Array): void => {
    const text = this.#decoder.decode(chunk, { stream: true });
    if (this.#expected.startsWith(text)) {
      this.#expected = this.#expected.slice(text.length);
      this.#repeated += text;
      return;
    }
    const whole = this.#repeated + text;
    this.#repeated = this.#expected = "";
    if (this.#shown.length < mostCharacters) this.#shown += whole;
    this.#show(whole);
  };

  /** A second request before any reply means that the program restarted, or is slow. */
  sent(): void {
    if (++this.#requests === 2) this.#expected = this.#shown;
  }

  /** After a reply, the program is not restarted. */
  received(): void {
    this.#requests = Number.POSITIVE_INFINITY;
    this.#expected = "";
  }
}
