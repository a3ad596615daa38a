import { type McpCall, prompt, text, tool } from "callwire/mcp";
import * as z from "zod";

const form = z.object({ name: z.string() });

function askName(call: McpCall) {
  return call.elicit("What is your name?", form, { key: "user_name" });
}

function askModel(call: McpCall) {
  return call.sample(
    {
      messages: [{ role: "user", content: text("What is the capital of France?") }],
      maxTokens: 100,
    },
    { key: "capital_question" },
  );
}

function confirm(call: McpCall) {
  return call.elicit("Please confirm", z.object({ ok: z.boolean() }), { key: "confirm" });
}

/** Tools that return their questions in the reply, as in version 2026-07-28. */
export const rounds = {
  test_input_required_result_elicitation: tool(
    { description: "Asks for a name" },
    async (_, call) => {
      const { content } = await askName(call);
      return [text(`Hello, ${content?.name ?? "stranger"}!`)];
    },
  ),
  test_input_required_result_sampling: tool({ description: "Asks the model" }, async (_, call) => {
    const { content } = await askModel(call);
    return [text(`The model said ${JSON.stringify(content)}`)];
  }),
  test_input_required_result_list_roots: tool(
    { description: "Asks for the client's folders" },
    async (_, call) => {
      const roots = await call.roots({ key: "client_roots" });
      return [text(`There are ${roots.length} roots`)];
    },
  ),
  test_input_required_result_request_state: tool(
    { description: "Asks once, and knows its own state again" },
    async (_, call) => {
      await confirm(call);
      return [text("state-ok")];
    },
  ),
  test_input_required_result_multiple_inputs: tool(
    { description: "Asks three things at once" },
    async (_, call) => {
      const [name, answer, roots] = await Promise.all([
        askName(call),
        askModel(call),
        call.roots({ key: "client_roots" }),
      ]);
      return [text(`${name.action}, ${answer.model}, ${roots.length} roots`)];
    },
  ),
  test_input_required_result_multi_round: tool(
    { description: "Asks twice, one after the other" },
    async (_, call) => {
      const first = await call.elicit("Step 1", form, { key: "step1" });
      const second = await call.elicit("Step 2", z.object({ color: z.string() }), {
        key: "step2",
      });
      return [text(`${first.content?.name} likes ${second.content?.color}`)];
    },
  ),
  test_input_required_result_tampered_state: tool(
    { description: "Refuses a state that it did not write" },
    async (_, call) => {
      await confirm(call);
      return [text("The state was not touched")];
    },
  ),
  test_input_required_result_capabilities: tool(
    { description: "Asks only for what the client can do" },
    async (_, call) => {
      const { capabilities } = call.client;
      if (capabilities.sampling !== undefined) await askModel(call);
      if (capabilities.elicitation !== undefined) await askName(call);
      return [text("Asked for what there is")];
    },
  ),
};

export const askingPrompt = prompt({ description: "Asks for context first" }, async (_, call) => {
  const { content } = await call.elicit("What is it about?", z.object({ context: z.string() }), {
    key: "user_context",
  });
  return `Please consider this context: ${content?.context ?? "none"}`;
});
