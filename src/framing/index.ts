/**
 * Framings separate messages in a stream of bytes: by lines, by Content-Length or by a length prefix. @module
 * callwire/framing
 */
export { contentLengthFraming } from "./content-length.ts";
export type {
  FrameDecoder,
  FrameDecoderOptions,
  FrameFault,
  FrameSink,
  Framing,
} from "./framing.ts";
export type { FramingChoice } from "./framing-choice.ts";
export { lengthPrefixFraming } from "./length-prefix.ts";
export { newlineFraming } from "./newline.ts";
