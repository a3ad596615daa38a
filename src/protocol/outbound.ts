import type { Transport } from "./origin.ts";

/** What middleware sees as the transport of a call that is made here. Not in `origin.ts`, so that clients need not load that. */
export const outbound: Transport = { kind: "outbound", headers: {}, remoteAddress: undefined };
