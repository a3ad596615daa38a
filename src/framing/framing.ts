/** How messages are separated in a stream of bytes. */
export interface Framing {
  readonly name: "newline" | "content-length" | "length-prefix";
  /** Encodes one message; frames that are strings may be concatenated. */
  encode(text: string): string | Uint8Array;
  /** Encodes several messages for one write, which costs less than encoding each. */
  encodeAll(texts: readonly string[]): string | Uint8Array;
  /** Encodes a frame of bytes, which begins with a zero; framings that separate text leave it out. */
  encodeBytes?(bytes: Uint8Array): Uint8Array;
  /** Creates a decoder for one stream. */
  decoder(options: FrameDecoderOptions): FrameDecoder;
}

export interface FrameDecoderOptions {
  /** Longest message in bytes of UTF-8; stops memory exhaustion. */
  readonly maxMessageBytes: number;
}

/** Finds the messages of one stream. Chunks may be cut anywhere without changing the outcome. */
export interface FrameDecoder {
  /** Whether a frame is incomplete. */
  readonly open: boolean;
  /** Takes a chunk, which may be reused afterwards. */
  push(chunk: Uint8Array, sink: FrameSink): void;
  /** The stream ended; an incomplete frame is a fault. */
  end(sink: FrameSink): void;
}

/** Receives messages and faults in order of arrival; must not throw. */
export interface FrameSink {
  text(message: string): void;
  /** A frame of bytes, which is valid during the call; without it, such a frame is text. */
  bytes?(frame: Uint8Array): void;
  fault(fault: FrameFault): void;
}

/** An invalid frame. Each is reported once. */
export interface FrameFault {
  readonly kind: "encoding" | "oversize" | "malformed" | "truncated";
  /** One sentence that may be sent to the peer; it repeats nothing that the peer sent. */
  readonly message: string;
  /** True if the stream cannot be read any further and must be closed; nothing is reported after it. */
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
