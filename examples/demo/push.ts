import type { Context } from "callwire";

/** Whether the caller can be told something after its call was answered. */
export function canPush({ peer, transport }: Context): boolean {
  // Over HTTP a caller hears nothing once it has its reply.
  return peer.canNotify && transport.kind !== "http";
}

export const CANNOT_PUSH = { code: 1001, message: "This wire cannot push" } as const;
