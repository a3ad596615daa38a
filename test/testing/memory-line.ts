/** A wire without I/O: every answer is there before any time has passed. */
import type { LineListener, LineWire } from "callwire/testing";

/** Newline framing. `hear` gets the written data, in the pieces in which it was written. */
export function memoryLine(hear: (text: string, listener: LineListener) => unknown): LineWire {
  const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
  return {
    kind: "line",
    name: "memory",
    address: "memory:",
    abilities: new Set(["stream", "newline"]),
    open: async (listener) => {
      const write = (bytes: Uint8Array): void => void hear(decoder.decode(bytes), listener);
      const encode = (message: string): Uint8Array => encoder.encode(`${message}\n`);
      return {
        send: (message) => write(typeof message === "string" ? encode(message) : message),
        encode,
        write,
        close: () => {},
      };
    },
  };
}
