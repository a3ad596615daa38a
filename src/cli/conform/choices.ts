import {
  type ConformanceFixtures,
  type ConformanceSelection,
  conformanceCases,
  conformanceGroups,
  conformanceLevels,
  demoFixtures,
} from "callwire/testing";
import { Failure } from "../failure.ts";

interface SelectionFlags {
  readonly group?: readonly string[] | undefined;
  readonly level?: readonly string[] | undefined;
  readonly case?: readonly string[] | undefined;
}

export function selectionFrom(flags: SelectionFlags): ConformanceSelection {
  const ids = conformanceCases.map(({ id }) => id);
  return {
    groups: chosen("--group", flags.group, conformanceGroups),
    levels: chosen("--level", flags.level, conformanceLevels),
    cases:
      flags.case === undefined ? undefined : chosen("--case", flags.case, ids, "--list shows them"),
  };
}

/** `--group ids,batch` and `--group ids --group batch` say the same; so does `must` for `MUST`. */
function chosen<Name extends string>(
  flag: string,
  given: readonly string[] | undefined,
  names: readonly Name[],
  known = `it is ${names.join(", ")}`,
): Name[] | undefined {
  return given
    ?.flatMap((each) => each.split(","))
    .map((text) => {
      const name = names.find((each) => each.toLowerCase() === text.trim().toLowerCase());
      if (name !== undefined) return name;
      throw new Failure(`there is no ${flag} ${JSON.stringify(text)}; ${known}`);
    });
}

/** Reads `add=math/add`. */
export function fixturesFrom(lines: readonly string[]): Partial<ConformanceFixtures> {
  const names = Object.keys(demoFixtures);
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = "", method = ""] = /^(\w+)=(.+)$/s.exec(line) ?? [];
      if (names.includes(name)) return [name, method];
      throw new Failure(
        `--fixture is name=method with the name ${names.join(", ")}, not ${JSON.stringify(line)}`,
      );
    }),
  );
}
