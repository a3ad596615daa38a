import type { FrameSink, Framing } from "../../framing/framing.ts";
import type { Line, LineListener } from "../conformance/wire.ts";

/** Longer than any answer to what the cases send. */
const longestAnswer = 64 * 1024 * 1024;

/** Where the bytes of a line go. */
export interface ByteSink {
  write(bytes: Uint8Array): void;
  close(): void;
}

/** Messages on a stream of bytes. Whoever has the stream hands over what arrives. */
export function framedLine(framing: Framing, listener: LineListener, to: ByteSink) {
  const decoder = framing.decoder({ maxMessageBytes: longestAnswer });
  const sink: FrameSink = {
    text: (message) => listener.message(message),
    fault: ({ message }) => listener.end(`what came cannot be read: ${message}`),
  };
  const line: Line = {
    send: (message) => to.write(typeof message === "string" ? encode(message) : framed(message)),
    encode,
    write: (bytes) => to.write(bytes),
    close: () => to.close(),
  };
  function encode(text: string): Uint8Array {
    const frame = framing.encode(text);
    return typeof frame === "string" ? Buffer.from(frame) : frame;
  }
  /** Takes the frame of a text of the same length, since a framing knows only text. */
  function framed(bytes: Uint8Array): Uint8Array {
    const frame = encode("x".repeat(bytes.length));
    const start = framing.name === "newline" ? 0 : frame.length - bytes.length;
    frame.set(bytes, start);
    return frame;
  }
  return { line, push: (chunk: Uint8Array) => decoder.push(chunk, sink) };
}
