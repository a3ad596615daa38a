import type { Limits } from "../protocol/limits.ts";
import type { Profile } from "../protocol/parse.ts";

const mebibyte = 1024 * 1024;

/**
 * Whole documents travel in one message, and the peer is a program that the user runs. Messages shorter than twice the
 * depth are not searched for it, which most changes of documents are.
 */
export const lspLimits: Partial<Limits> = {
  maxDepth: 256,
  maxMessageBytes: 64 * mebibyte,
  maxReplyLength: 64 * mebibyte,
  maxInFlightBytes: 512 * mebibyte,
  maxBufferedBytes: 64 * mebibyte,
};

/** LSP has no batches. */
export const lspProfile: Profile = { nullIds: true, positionalParams: true, batches: () => false };
