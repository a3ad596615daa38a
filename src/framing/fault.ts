import type { FrameFault } from "./framing.ts";

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
