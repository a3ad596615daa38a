import type { Options } from "./command.ts";
import { Failure } from "./failure.ts";

export const framings = ["newline", "content-length", "length-prefix"] as const;
export type FramingName = (typeof framings)[number];

export const framingOption = {
  framing: {
    type: "string",
    value: "name",
    description: "newline, content-length or length-prefix, for stdio, TCP and unix",
  },
} as const satisfies Options;

export function framingOf(name = "newline", option = "--framing"): FramingName {
  const framing = framings.find((known) => known === name);
  if (framing !== undefined) return framing;
  throw new Failure(`${option} is ${framings.join(", ")}, not ${JSON.stringify(name)}`);
}
