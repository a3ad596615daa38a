import type { Params } from "callwire";
import { wordsOf } from "./link-from-url.ts";
import { paramsOfWords } from "./params.ts";

/** A call as it is typed: a method, then its params in any form that `callwire call` takes. */
export function requestLine(line: string): { method: string; params: Params | undefined } {
  const [, method = "", rest = ""] = /^\s*(\S+)\s*([\s\S]*?)\s*$/.exec(line) ?? [];
  // JSON is taken whole, since its quotes and spaces are its own.
  return { method, params: paramsOfWords(/^[[{]/.test(rest) ? [rest] : wordsOf(rest)) };
}
