import { contentLengthFraming } from "./content-length.ts";
import type { Framing } from "./framing.ts";
import { lengthPrefixFraming } from "./length-prefix.ts";
import { newlineFraming } from "./newline.ts";

/** A framing or its name, as given on a command line. */
export type FramingChoice = Framing | Framing["name"];

const framings = new Map<string, Framing>(
  [newlineFraming, contentLengthFraming, lengthPrefixFraming].map((framing) => [
    framing.name,
    framing,
  ]),
);

export function framingOf(choice: FramingChoice = newlineFraming): Framing {
  if (typeof choice !== "string") return choice;
  const framing = framings.get(choice);
  if (framing !== undefined) return framing;
  throw new TypeError(`unknown framing "${choice}"; known are ${[...framings.keys()].join(", ")}`);
}
