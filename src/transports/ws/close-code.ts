import type { ChannelFault, CloseReason } from "../../connection/channel.ts";
import { WireError } from "../../protocol/errors.ts";

interface Close {
  readonly code: number;
  readonly sentence: string;
}

/** What the other end is told when a channel is closed. */
export const closes: Readonly<Record<CloseReason, Close>> = {
  done: { code: 1000, sentence: "" },
  "going-away": { code: 1001, sentence: "the server is going away" },
  garbage: { code: 1008, sentence: "too many messages that are no JSON-RPC" },
  refused: { code: 1008, sentence: "not allowed to connect" },
  "slow-reader": { code: 1013, sentence: "too much waits to be read" },
  // Nobody hears this one, and most wires cut the line instead.
  dead: { code: 1001, sentence: "no sign of life" },
};

const meanings: Readonly<Record<number, string>> = {
  1001: "going away",
  1002: "protocol error",
  1003: "unsupported data",
  1006: "no closing handshake",
  1007: "not UTF-8",
  1008: "policy violation",
  1009: "message too big",
  1011: "internal error",
  1012: "service restart",
  1013: "try again later",
};

/** The error that a close of the other end means, or undefined if it simply was done. */
export function lossOf(code: number | undefined, reason: string): Error | undefined {
  if (code === undefined || code === 1000 || code === 1005) return undefined;
  const said = reason === "" ? (meanings[code] ?? "no reason given") : reason;
  return new WireError("CONNECTION_LOST", `the WebSocket was closed with ${code}: ${said}`);
}

/** How long the other end may take to answer a close before the line is cut. */
export const closeTimeoutMs = 3000;

/** The code for a peer that breaks a rule of this end. */
export const policyViolation = 1008;

/** The code of a message that is longer than it may be. */
export const messageTooBig = 1009;

export const tooLong: ChannelFault = { kind: "oversize", message: "the message is too long" };

export const notText: ChannelFault = {
  kind: "unreadable",
  message: "a message is a text frame, not a binary one",
};
