import { invalidParams, method } from "callwire";
import * as z from "zod";

const longestPrompt = 4000;

export const ai = {
  generate: method(
    {
      summary: `Pretend to be a language model that takes at most ${longestPrompt} characters`,
      params: z.object({ prompt: z.string() }),
      result: z.string(),
      examples: [{ params: { prompt: "Tell me a joke" }, result: "Generated text..." }],
    },
    ({ prompt }) => {
      if (prompt.length > longestPrompt) throw invalidParams("Prompt too long");
      return "Generated text...";
    },
  ),
};
