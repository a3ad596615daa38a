import { curl } from "./curl.ts";
import { fetchCode } from "./fetch.ts";
import { python } from "./python.ts";
import { raw } from "./raw.ts";
import type { Sketch } from "./sketch.ts";
import { typescript } from "./typescript.ts";

/** The languages in which the page shows a call. */
export const languages: readonly {
  readonly name: string;
  readonly write: (sketch: Sketch) => string;
}[] = [
  { name: "curl", write: curl },
  { name: "TypeScript", write: typescript },
  { name: "fetch", write: fetchCode },
  { name: "Python", write: python },
  { name: "JSON", write: raw },
];
