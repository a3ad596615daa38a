import type { Link } from "callwire";
import { Failure, oneLine } from "./failure.ts";

export interface LinkOptions {
  /** Sent with each request, on wires that have headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

const forms = "http://, https://, ws://, wss://, tcp://, tls://, unix:path or stdio:command";

/** Whether a text names a server, and not a file. */
export function isServerUrl(text: string): boolean {
  return /^(https?|wss?|tcp|tls):\/\/|^(unix|stdio):/.test(text);
}

/** The way to the server that an address names. A broken connection is told, not healed. */
export async function linkFromUrl(url: string, options: LinkOptions = {}): Promise<Link> {
  const { headers = {} } = options;
  const reconnect = false;
  const [, scheme = "", rest = ""] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  try {
    // Each wire is loaded when it is asked for, so that the command starts at once.
    switch (scheme) {
      case "http":
      case "https":
        return (await import("callwire/http")).httpLink(url, { headers });
      case "ws":
      case "wss":
        return (await import("callwire/ws")).webSocketLink(url, { headers, reconnect });
      case "tcp":
      case "tls":
        return (await import("callwire/tcp")).tcpLink(url, { reconnect });
      case "unix":
        if (rest === "") break;
        return (await import("callwire/tcp")).unixLink(rest.replace(/^\/\/(?=\/)/, ""), {
          reconnect,
        });
      case "stdio": {
        const [command, ...args] = wordsOf(rest);
        if (command === undefined) break;
        return (await import("callwire/stdio")).stdioLink(command, args, { reconnect });
      }
    }
  } catch (error) {
    throw new Failure(`${JSON.stringify(url)} is no address: ${oneLine(error)}`, { cause: error });
  }
  throw new Failure(`${JSON.stringify(url)} is no address; addresses are ${forms}`);
}

/** The words of a command line; quotes keep spaces together, and nothing else has a meaning. */
export function wordsOf(line: string): string[] {
  return Array.from(line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g), ([word]) =>
    word.replace(
      /"([^"]*)"|'([^']*)'/g,
      (_, double?: string, single?: string) => double ?? single ?? "",
    ),
  );
}
