import {
  type ConformanceCase,
  type ConformanceGroup,
  type ConformanceLevel,
  conformanceGroups,
  conformanceLevels,
  type WireAbility,
} from "./case.ts";
import { conformanceCases } from "./cases.ts";
import type { ConformanceWire } from "./conformance-wire.ts";
import { type FixtureName, fixturesOf } from "./payload.ts";

export interface ConformanceSelection {
  /** Groups to run. @default all */
  readonly groups?: readonly ConformanceGroup[] | undefined;
  /** Levels to run. @default all */
  readonly levels?: readonly ConformanceLevel[] | undefined;
  /** Ids of the cases to run, such as `batch/empty`. @default all */
  readonly cases?: readonly string[] | undefined;
}

/** What a run is going to do. */
export interface ConformancePlan {
  readonly cases: readonly ConformanceCase[];
  /** Fixtures that the cases need. */
  readonly fixtures: ReadonlySet<FixtureName>;
  /** Upper bound on the messages that the run sends. */
  readonly mostMessages: number;
}

/**
 * The cases of a selection, in the order in which they run.
 * @example
 * ```ts
 * import { selectCases } from "callwire/testing";
 *
 * for (const { id, level } of selectCases({ levels: ["MUST"] })) console.log(level, id);
 * ```
 */
export function selectCases(selection: ConformanceSelection = {}): readonly ConformanceCase[] {
  const { groups = conformanceGroups, levels = conformanceLevels, cases } = selection;
  for (const id of cases ?? []) {
    if (!conformanceCases.some((each) => each.id === id)) {
      throw new TypeError(`unknown conformance case ${JSON.stringify(id)}`);
    }
  }
  return conformanceCases.filter(
    ({ id, group, level }) =>
      groups.includes(group) && levels.includes(level) && (cases?.includes(id) ?? true),
  );
}

/**
 * Plans a run of these cases over this wire.
 * @example
 * ```ts
 * import { fetchConformanceWire, planConformance } from "callwire/testing";
 *
 * const wire = fetchConformanceWire("http://127.0.0.1:8000/rpc");
 * const { cases, mostMessages } = planConformance(wire, { levels: ["MUST"] });
 * console.log(`${cases.length} cases, at most ${mostMessages} messages`);
 * ```
 */
export function planConformance(
  wire: ConformanceWire,
  selection: ConformanceSelection = {},
): ConformancePlan {
  const chosen = selectCases(selection);
  const sent = chosen.filter((each) => lackingFor(each, wire) === undefined);
  const fixtures = new Set(sent.flatMap((each) => [...fixturesOf(each)]));
  return { cases: chosen, fixtures, mostMessages: mostMessages(sent, fixtures.size) };
}

/**
 * A probe and a check whether the server still answers may follow each exchange and the trial of
 * each fixture, and the run begins with such a check.
 */
function mostMessages(cases: readonly ConformanceCase[], fixtures: number): number {
  let most = 1 + 3 * fixtures;
  for (const { exchanges } of cases) {
    for (const { send } of exchanges) {
      most += 2 + (send.kind === "pieces" ? send.messages.length : 1);
    }
  }
  return most;
}

const meanings: Readonly<Record<WireAbility, string>> = {
  http: "HTTP",
  "raw-http": "HTTP on a raw socket",
  websocket: "WebSocket",
  "raw-websocket": "WebSocket with arbitrary headers and fragments",
  stream: "a byte stream",
  newline: "newline framing",
  "content-length": "Content-Length framing",
  "length-prefix": "length-prefix framing",
  loopback: "a server on this machine",
};

/** Why a case cannot run on this wire; undefined if it can. */
export function lackingFor(
  { needs = [] }: ConformanceCase,
  { abilities }: ConformanceWire,
): string | undefined {
  const lacking = needs.find((ability) => !abilities.has(ability));
  return lacking === undefined ? undefined : `for ${meanings[lacking]} only`;
}
