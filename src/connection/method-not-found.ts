import { Answerer } from "../protocol/answer.ts";
import { markDuplicates } from "../protocol/duplicate-members.ts";
import { failure } from "../protocol/message.ts";
import { methodNotFound } from "../protocol/standard-errors.ts";
import type { CallAnswerer, NoMethodsSettings } from "./no-methods.ts";

/** Checks the peer's messages as a service does, and knows no method. */
export function methodNotFoundAnswerer(
  settings: NoMethodsSettings,
): Pick<CallAnswerer, "answerPayload"> {
  const answerer = new Answerer(() => failure(methodNotFound), {
    ...settings,
    versions: new Set(["2.0"]),
    allowNullParams: false,
    timeoutMs: undefined,
  });
  return {
    answerPayload(payload, text, origin, receiver) {
      const marked = markDuplicates(payload, text, settings.limits.maxBatch);
      return answerer.answerPayload(marked, text, origin, receiver);
    },
  };
}
