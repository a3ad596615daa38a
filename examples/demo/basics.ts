import { method } from "callwire";
import * as z from "zod";

export const basics = {
  add: method(
    {
      summary: "Add two numbers",
      params: z.object({ a: z.number(), b: z.number() }),
      result: z.number(),
      idempotent: true,
      examples: [
        { name: "by position", params: [5, 3], result: 8 },
        { name: "by name", params: { a: 5, b: 3 }, result: 8 },
      ],
    },
    ({ a, b }) => a + b,
  ),

  echo: method(
    {
      summary: "Answer with what was sent",
      params: z.object({ message: z.unknown() }),
      result: z.unknown(),
      idempotent: true,
      examples: [{ params: ["hello"], result: "hello" }],
    },
    ({ message }) => message,
  ),

  subtract: method(
    {
      summary: "Subtract one number from another",
      params: z.object({ minuend: z.number(), subtrahend: z.number() }),
      result: z.number(),
      idempotent: true,
      examples: [
        { name: "by position", params: [42, 23], result: 19 },
        { name: "by name", params: { subtrahend: 23, minuend: 42 }, result: 19 },
      ],
    },
    ({ minuend, subtrahend }) => minuend - subtrahend,
  ),

  get_server_time: method(
    {
      summary: "Tell the time of the server, as ISO 8601 has it",
      params: z.object({}),
      result: z.string(),
      idempotent: true,
      examples: [{ result: "2026-01-31T12:00:00.000Z" }],
    },
    () => new Date().toISOString(),
  ),

  trigger_error: method(
    {
      summary: "Fail, to show what a caller sees of a failure",
      description:
        'The caller gets -32603 "Internal error"; the message stays in the server\'s log.',
      params: z.object({ message: z.string().default("trigger_error was called") }),
      examples: [{ params: ["Something broke"] }],
    },
    ({ message }) => {
      throw new Error(message);
    },
  ),

  notify_log: method(
    {
      summary: "Write a line to the server's terminal",
      description: "Meant as a notification: leave out the id, and nothing is answered.",
      params: z.object({ message: z.string(), source: z.string().default("unknown") }),
      result: z.null(),
      examples: [{ params: { message: "User logged in", source: "web" }, result: null }],
    },
    ({ message, source }) => {
      // As JSON, so that a message cannot forge a second line; never on stdout, which may carry messages.
      console.error(`notify_log ${JSON.stringify({ source, message })}`);
      return null;
    },
  ),
};
