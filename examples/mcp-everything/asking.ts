import { text, tool } from "callwire/mcp";
import * as z from "zod";

/** Tools that send requests to the client while they run. */
export const asking = {
  test_sampling: tool(
    { description: "Asks the client's model", input: z.object({ prompt: z.string() }) },
    async ({ prompt }, call) => {
      const { content } = await call.sample({
        messages: [{ role: "user", content: text(prompt) }],
        maxTokens: 100,
      });
      return [text(`LLM response: ${JSON.stringify(content)}`)];
    },
  ),
  test_elicitation: tool(
    { description: "Asks the user", input: z.object({ message: z.string() }) },
    async ({ message }, call) => {
      const answer = await call.elicit(
        message,
        z.object({ username: z.string(), email: z.string() }),
      );
      return [text(`User response: ${JSON.stringify(answer)}`)];
    },
  ),
  test_elicitation_sep1034_defaults: tool(
    { description: "Asks with defaults filled in" },
    async (_, call) => {
      const answer = await call.elicit("Please review these values", {
        type: "object",
        properties: {
          name: { type: "string", default: "John Doe" },
          age: { type: "integer", default: 30 },
          score: { type: "number", default: 95.5 },
          status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
          verified: { type: "boolean", default: true },
        },
        required: [],
      });
      return [text(`Elicitation completed: ${JSON.stringify(answer)}`)];
    },
  ),
  test_elicitation_sep1330_enums: tool(
    { description: "Asks with every form of choice" },
    async (_, call) => {
      const titled = [1, 2, 3].map((i) => ({ const: `value${i}`, title: `Option ${i}` }));
      const plain = ["option1", "option2", "option3"];
      const answer = await call.elicit("Please choose", {
        type: "object",
        properties: {
          untitledSingle: { type: "string", enum: plain },
          titledSingle: { type: "string", oneOf: titled },
          legacyEnum: { type: "string", enum: plain, enumNames: ["One", "Two", "Three"] },
          untitledMulti: { type: "array", items: { type: "string", enum: plain } },
          titledMulti: { type: "array", items: { anyOf: titled } },
        },
        required: [],
      });
      return [text(`Elicitation completed: ${JSON.stringify(answer)}`)];
    },
  ),
  test_missing_capability: tool({ description: "Needs a client with a model" }, async (_, call) => {
    const { model } = await call.sample({
      messages: [{ role: "user", content: text("Hello") }],
      maxTokens: 10,
    });
    return [text(`Answered by ${model}`)];
  }),
  test_streaming_elicitation: tool({ description: "Asks the user" }, async (_, call) => {
    const { action } = await call.elicit("Go on?", z.object({ ok: z.boolean() }));
    return [text(`The user chose to ${action}`)];
  }),
};
