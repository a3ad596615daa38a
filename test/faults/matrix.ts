/** Which faults are tried on which wires; every cell is a test of `faults.test.ts`. */
export const wires = [
  "HTTP",
  "SSE",
  "WebSocket",
  "TCP",
  "unix",
  "stdio",
  "NATS",
  "gateway to TCP",
  "gateway to HTTP",
] as const;

export const faults = [
  "refused",
  "reset",
  "half-open",
  "slow",
  "reordered",
  "duplicated",
  "truncated",
  "garbage",
  "frozen peer",
  "killed peer",
  "clock step",
  "full disk",
] as const;

export type WireName = (typeof wires)[number];
export type Fault = (typeof faults)[number];

/** Whether `npm test` runs it too; the others need more time or processes of their own. */
export function isQuick(fault: Fault, wire: WireName): boolean {
  if (wire === "TCP" && fault === "full disk") return true;
  const isQuickWire = wire !== "stdio" && wire !== "NATS" && wire !== "unix" && wire !== "SSE";
  return isQuickWire && ["refused", "reset", "truncated", "garbage"].includes(fault);
}

const oneRequestEach = "A connection carries one request at a time, so a reply cannot be repeated.";

/** Why a fault cannot happen on a wire; undefined if it can. */
export function impossible(fault: Fault, wire: WireName): string | undefined {
  if (fault === "duplicated" && (wire === "HTTP" || wire === "SSE" || wire === "gateway to HTTP"))
    return oneRequestEach;
  return undefined;
}
