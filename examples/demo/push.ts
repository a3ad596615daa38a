import type { Context } from "callwire";

/** Whether the server can push to the caller after the reply. */
export function canPush({ peer, transport }: Context): boolean {
  // Over HTTP the server cannot push after the reply.
  return peer.canNotify && transport.kind !== "http";
}

export const CANNOT_PUSH = { code: 1001, message: "This wire cannot push" } as const;
