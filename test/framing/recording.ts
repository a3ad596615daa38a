import type { FrameFault, FrameSink, Framing } from "../../src/framing/framing.ts";

/**
 * The events of a sink: a message as its text, a fault as its kind, with a mark if it ends the
 * stream.
 */
export class Recording implements FrameSink {
  readonly events: string[] = [];
  readonly faults: FrameFault[] = [];

  text(message: string): void {
    this.events.push(`text ${message}`);
  }

  fault(fault: FrameFault): void {
    this.events.push(fault.fatal ? `fatal ${fault.kind}` : fault.kind);
    this.faults.push(fault);
  }
}

/** Feeds the chunks to a fresh decoder and ends the stream. */
export function read(
  framing: Framing,
  chunks: Iterable<Uint8Array>,
  maxMessageBytes = 1_048_576,
): string[] {
  const recording = new Recording();
  const decoder = framing.decoder({ maxMessageBytes });
  for (const chunk of chunks) decoder.push(chunk, recording);
  decoder.end(recording);
  return recording.events;
}

export function texts(messages: readonly string[]): string[] {
  return messages.map((message) => `text ${message}`);
}

export function bytesOf(text: string | Uint8Array): Uint8Array {
  return typeof text === "string" ? new TextEncoder().encode(text) : text;
}

export function join(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const arrays = parts.map(bytesOf);
  const joined = new Uint8Array(arrays.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const array of arrays) {
    joined.set(array, at);
    at += array.length;
  }
  return joined;
}

export function* inPieces(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

export function cutAt(bytes: Uint8Array, offsets: readonly number[]): Uint8Array[] {
  const sorted = [0, ...offsets, bytes.length].sort((a, b) => a - b);
  return sorted.slice(1).map((end, i) => bytes.slice(sorted[i], end));
}
