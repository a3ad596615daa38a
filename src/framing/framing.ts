/** How messages are told apart in a stream of bytes. */
export interface Framing {
  readonly name: "newline" | "content-length" | "length-prefix";
  /** One message, ready for the wire; several that come as strings may be concatenated. */
  encode(text: string): string | Uint8Array;
  /** Several messages, ready for one write. Looking at all of them at once costs less than at each. */
  encodeAll(texts: readonly string[]): string | Uint8Array;
  /** A decoder for one stream. */
  decoder(options: FrameDecoderOptions): FrameDecoder;
}

export interface FrameDecoderOptions {
  /** Longest message in bytes of UTF-8; stops a peer from filling the memory with one message. */
  readonly maxMessageBytes: number;
}

/** Finds the messages in one stream. The chunks may be cut anywhere; the outcome does not depend on where. */
export interface FrameDecoder {
  /** Whether a frame has begun whose end has not come. */
  readonly open: boolean;
  /** Takes what arrived; the chunk may be reused afterwards. */
  push(chunk: Uint8Array, sink: FrameSink): void;
  /** The stream ended; an unfinished frame is a fault. */
  end(sink: FrameSink): void;
}

/** Gets messages and faults in the order in which they arrived; it must not throw. */
export interface FrameSink {
  text(message: string): void;
  fault(fault: FrameFault): void;
}

/** A frame that carries no message. Each broken frame is reported once. */
export interface FrameFault {
  readonly kind: "encoding" | "oversize" | "malformed" | "truncated";
  /** One sentence that may be sent to the peer; it repeats nothing that the peer sent. */
  readonly message: string;
  /** True when the stream cannot be read any further and must be cut; nothing is reported after it. */
  readonly fatal: boolean;
}

export const encodingFault: FrameFault = {
  kind: "encoding",
  message: "The message is not valid UTF-8.",
  fatal: false,
};

export const truncatedFault: FrameFault = {
  kind: "truncated",
  message: "The stream ended in the middle of a message.",
  fatal: true,
};

export function oversizeFault(maxMessageBytes: number, fatal: boolean): FrameFault {
  return {
    kind: "oversize",
    message: `The message is longer than ${maxMessageBytes} bytes.`,
    fatal,
  };
}

export function malformedFault(message: string, fatal: boolean): FrameFault {
  return { kind: "malformed", message, fatal };
}
