import {
  type McpHttpLinkOptions,
  type McpWire,
  mcpHttpLink,
  mcpStdioLink,
} from "callwire/mcp/client";
import { Failure } from "../failure.ts";
import { withoutLastWords } from "../last-words.ts";
import { mustBeHttpHeaders, wordsOf } from "../link-from-url.ts";
import { ProgramVoice } from "./program-voice.ts";

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
