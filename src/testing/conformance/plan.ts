import {
  type ConformanceCase,
  type ConformanceGroup,
  type ConformanceLevel,
  conformanceGroups,
  conformanceLevels,
  type WireAbility,
} from "./case.ts";
import { conformanceCases } from "./cases.ts";
import { type FixtureName, fixturesOf } from "./payload.ts";
import type { ConformanceWire } from "./wire.ts";

export interface ConformanceSelection {
  /** Only the cases of these groups. @default all of them */
  readonly groups?: readonly ConformanceGroup[] | undefined;
  /** Only the cases of these levels. @default all of them */
  readonly levels?: readonly ConformanceLevel[] | undefined;
  /** Ids of cases, such as `batch/empty`. @default all of them */
  readonly cases?: readonly string[] | undefined;
}

/** What a run will do. */
export interface ConformancePlan {
  readonly cases: readonly ConformanceCase[];
  /** Methods of the server that some of the cases call. */
  readonly fixtures: ReadonlySet<FixtureName>;
  /** The run sends no more messages than this. */
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
      throw new TypeError(`there is no case ${JSON.stringify(id)}`);
    }
  }
  return conformanceCases.filter(
    ({ id, group, level }) =>
      groups.includes(group) && levels.includes(level) && (cases?.includes(id) ?? true),
  );
}

/**
 * What a run of these cases over this wire will do.
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
 * Each exchange may be followed by a probe, and by a question whether the server lives. So may the
 * trial of each fixture, and the run begins with a question of its own.
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
  "raw-http": "HTTP on a bare socket",
  websocket: "WebSocket",
  "raw-websocket": "WebSocket with headers and fragments of our choice",
  stream: "a stream of bytes",
  newline: "newline framing",
  "content-length": "Content-Length framing",
  "length-prefix": "length-prefix framing",
  loopback: "a server on this machine",
};

/** Why a case is not for this wire, or undefined. */
export function lackingFor(
  { needs = [] }: ConformanceCase,
  { abilities }: ConformanceWire,
): string | undefined {
  const lacking = needs.find((ability) => !abilities.has(ability));
  return lacking === undefined ? undefined : `for ${meanings[lacking]} only`;
}
