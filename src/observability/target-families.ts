import type { TargetState } from "../protocol/target-state.ts";
import type { Family } from "./family.ts";

/** The metrics of what is behind a gateway. */
export function targetFamilies(prefix: string, targets: readonly TargetState[]): Family[] {
  const family = (
    kind: "counter" | "gauge",
    name: string,
    help: string,
    read: (target: TargetState) => number,
  ): Family => ({
    kind,
    name: `${prefix}_target_${name}`,
    help,
    series: targets.map((each) => ({
      labels: { upstream: each.upstream, target: each.target },
      value: read(each),
    })),
  });
  return [
    family("gauge", "up", "Whether a target may be called: 1 or 0.", (each) => (each.up ? 1 : 0)),
    family("gauge", "calls_in_flight", "Calls that a target has.", (each) => each.inFlight),
    family("counter", "calls", "Calls sent to a target.", (each) => each.calls),
    family("counter", "failures", "Calls that a target did not answer.", (each) => each.failures),
  ];
}
