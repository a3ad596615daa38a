import type { ConformanceWire } from "callwire/testing";
import type { FramingName } from "../command-arguments.ts";
import { Failure, oneLine } from "../failure.ts";
import { mustCarryAnyText, wordsOf } from "../link-from-url.ts";

export interface ConformWireOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly framing: FramingName | undefined;
}

const forms = "http://, https://, ws://, wss://, tcp://, tls://, unix:path or stdio:command";

/** The way to the server that an address names, on which anything can be sent. */
export async function conformWire(
  url: string,
  { headers, framing }: ConformWireOptions,
): Promise<ConformanceWire> {
  mustCarryAnyText(url);
  const wires = await import("callwire/testing/node");
  const [, scheme = "", rest = ""] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  try {
    switch (scheme) {
      case "http":
      case "https":
        return wires.httpConformanceWire(url, { headers });
      case "ws":
      case "wss":
        return wires.rawWebSocketConformanceWire(url, { headers });
      case "tcp":
      case "tls":
      case "unix":
        return wires.socketConformanceWire(url, { framing });
      case "stdio": {
        const [command, ...args] = wordsOf(rest);
        if (command === undefined) break;
        return wires.stdioConformanceWire(command, args, { framing });
      }
    }
  } catch (error) {
    throw new Failure(`${JSON.stringify(url)} is no address: ${oneLine(error)}`, { cause: error });
  }
  throw new Failure(`${JSON.stringify(url)} is no address; addresses are ${forms}`);
}
