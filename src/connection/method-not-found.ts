import { Answerer } from "../protocol/answer.ts";
import { failure } from "../protocol/message.ts";
import { methodNotFound } from "../protocol/standard-errors.ts";
import type { NoMethodsSettings } from "./no-methods.ts";

/** Checks the peer's messages as a service does, and knows no method. */
export function methodNotFoundAnswerer(settings: NoMethodsSettings): Answerer {
  return new Answerer(() => failure(methodNotFound), {
    ...settings,
    versions: new Set(["2.0"]),
    allowNullParams: false,
    timeoutMs: undefined,
  });
}
