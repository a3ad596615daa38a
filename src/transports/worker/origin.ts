import type { Transport } from "../../protocol/origin.ts";

export const transport: Transport = { kind: "worker", headers: {}, remoteAddress: undefined };
