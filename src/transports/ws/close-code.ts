import type { ChannelFault, CloseReason } from "../../connection/channel.ts";
import { WireError } from "../../protocol/errors.ts";

interface Close {
  readonly code: number;
  readonly sentence: string;
}

/** Close code and reason for each way of closing a channel. */
export const closes: Readonly<Record<CloseReason, Close>> = {
  done: { code: 1000, sentence: "" },
  "going-away": { code: 1001, sentence: "the server is going away" },
  garbage: { code: 1008, sentence: "too many messages that are not JSON-RPC" },
  refused: { code: 1008, sentence: "not allowed to connect" },
  "slow-reader": { code: 1013, sentence: "the client reads too slowly" },
  // Seldom sent: most wires terminate the connection instead.
  dead: { code: 1001, sentence: "no reply to a ping" },
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

/** The error for a close by the peer, or undefined for a normal close. */
export function lossOf(code: number | undefined, reason: string): Error | undefined {
  if (code === undefined || code === 1000 || code === 1005) return undefined;
  const said = reason === "" ? (meanings[code] ?? "no reason given") : reason;
  return new WireError("CONNECTION_LOST", `the WebSocket was closed with ${code}: ${said}`);
}

/** How long the peer may take to answer a close before the connection is terminated. */
export const closeTimeoutMs = 3000;

/** Close code for a peer that violates a limit. */
export const policyViolation = 1008;

/** Close code for an oversized message. */
export const messageTooBig = 1009;

export const tooLong: ChannelFault = { kind: "oversize", message: "the message is too long" };

export const notText: ChannelFault = {
  kind: "unreadable",
  message: "a message must be a text frame, not a binary one",
};
