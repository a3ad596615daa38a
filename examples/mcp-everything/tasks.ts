import { setTimeout as pause } from "node:timers/promises";
import { McpError, text, tool } from "callwire/mcp";
import * as z from "zod";

const yes = z.object({ confirm: z.boolean() });

/** Tools that continue after their reply. */
export const tasks = {
  greet: tool(
    { description: "Greets at once", input: z.object({ name: z.string() }) },
    ({ name }) => [text(`Hello, ${name}!`)],
  ),
  slow_compute: tool(
    { description: "Takes its time", input: z.object({ seconds: z.number() }), task: "optional" },
    async ({ seconds }, call) => {
      await pause(seconds * 1000, undefined, { signal: call.signal });
      return [text(`Computed for ${seconds} s`)];
    },
  ),
  failing_job: tool(
    { description: "Fails after a second, as a tool does", task: "required" },
    async (_, call) => {
      await pause(1000, undefined, { signal: call.signal });
      return { content: [text("The job failed")], isError: true };
    },
  ),
  protocol_error_job: tool(
    { description: "Fails after a moment, as a request does", task: "optional" },
    async (_, call) => {
      await pause(100, undefined, { signal: call.signal });
      throw new McpError(-32603, "The job broke");
    },
  ),
  confirm_delete: tool(
    {
      description: "Asks before it deletes",
      input: z.object({ filename: z.string().optional() }),
      task: "optional",
    },
    async ({ filename = "the file" }, call) => {
      const { content } = await call.elicit(`Delete ${filename}?`, yes, { key: "confirm" });
      return [text(content?.confirm === true ? `Deleted ${filename}` : `Kept ${filename}`)];
    },
  ),
  multi_input: tool(
    { description: "Asks two things at the same time", task: "optional" },
    async (_, call) => {
      const [first, second] = await Promise.all([
        call.elicit("What is your name?", z.object({ name: z.string() }), { key: "name" }),
        call.elicit("How old are you?", z.object({ age: z.number() }), { key: "age" }),
      ]);
      return [text(`${first.content?.name} is ${second.content?.age}`)];
    },
  ),
  test_tool_with_task: tool(
    { description: "Asks first and works later", task: "required", beginsTask: true },
    async (_, call) => {
      const { content } = await call.elicit("What is your name?", z.object({ name: z.string() }), {
        key: "user_name",
      });
      return call.task(async () => {
        await pause(100);
        return [text(`Worked for ${content?.name}`)];
      });
    },
  ),
};
