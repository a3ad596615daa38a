import type { ConformanceWire } from "callwire/testing";
import type { FramingName } from "../command-arguments.ts";
import { oneLine } from "../failure.ts";
import { notAnAddress, refuseNats, splitWords } from "../link-from-url.ts";

export interface ConformWireOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly framing: FramingName | undefined;
}

const forms = "http://, https://, ws://, wss://, tcp://, tls://, unix:path or stdio:command";

/** The wire to the server at an address, which can send invalid messages. */
export async function conformWire(
  url: string,
  { headers, framing }: ConformWireOptions,
): Promise<ConformanceWire> {
  refuseNats(url);
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
        const [command, ...args] = splitWords(rest);
        if (command === undefined) break;
        return wires.stdioConformanceWire(command, args, { framing });
      }
    }
  } catch (error) {
    throw notAnAddress(url, `: ${oneLine(error)}`, error);
  }
  throw notAnAddress(url, `; addresses are ${forms}`);
}
