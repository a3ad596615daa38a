import type { Duplex } from "node:stream";
import type { Framing } from "callwire/framing";
import { Inbox } from "./inbox.ts";
import type { RawEnd } from "./wire.ts";

/** The raw side of a wire that is a stream of bytes: a socket, or the pipes of a child. */
export function rawStream(stream: Duplex, framing: Framing): RawEnd {
  const inbox = new Inbox();
  const decoder = framing.decoder({ maxMessageBytes: 64 * 1024 * 1024 });
  const sink = {
    text: (message: string) => inbox.push(message),
    fault: () => stream.destroy(),
  };
  stream.on("data", (chunk: Uint8Array) => decoder.push(chunk, sink));
  stream.on("error", () => {});
  stream.on("end", () => inbox.end());
  stream.on("close", () => inbox.end());
  return {
    send: (text) => void stream.write(framing.encode(text)),
    sendBytes(body) {
      // The frame of a text of the same length, with these bytes instead of its own.
      const frame = Buffer.from(framing.encode("x".repeat(body.length)));
      frame.set(body, frame.indexOf("x".repeat(body.length)));
      stream.write(frame);
    },
    inbox,
    pause: () => void stream.pause(),
    kill: () => void stream.destroy(),
  };
}
