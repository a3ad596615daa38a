/** The contract of the board: what the page and the server share. It has no code of either. */
import { defineErrors, method, stream } from "callwire";
import { z } from "zod";

const task = z.object({
  id: z.string(),
  title: z.string(),
  done: z.boolean(),
  /** Who changed it last. */
  by: z.string(),
  /** The name of its file. */
  attachment: z.string().nullable(),
});
export type Task = z.infer<typeof task>;

const change = z.object({ kind: z.enum(["created", "updated", "removed"]), task });
const title = z.string().trim().min(1).max(200);

const { NOT_FOUND } = defineErrors({
  NOT_FOUND: { code: 1404, data: z.object({ id: z.string() }) },
});

export const contract = {
  session: {
    login: method({
      summary: "Get a token for a name and a password",
      params: z.object({ name: z.string(), password: z.string() }),
      result: z.object({ token: z.string() }),
      errors: { WRONG_PASSWORD: { code: 1401 } },
    }),
    ticket: method({ summary: "Get a ticket for one WebSocket", result: z.string() }),
  },
  tasks: {
    list: method({ summary: "All tasks, oldest first", result: z.array(task), idempotent: true }),
    create: method({ params: z.object({ title }), result: task }),
    update: method({
      params: z.object({ id: z.string(), title: title.optional(), done: z.boolean().optional() }),
      result: task,
      errors: { NOT_FOUND },
    }),
    remove: method({ params: z.object({ id: z.string() }), result: task, errors: { NOT_FOUND } }),
    attach: method({
      summary: "Add a file to a task, or replace it",
      params: z.object({ id: z.string(), file: z.file() }),
      result: task,
      errors: { NOT_FOUND },
      limits: { maxFiles: 1, maxFileBytes: 10_000_000 },
    }),
    attachment: method({
      summary: "The file of a task",
      params: z.object({ id: z.string() }),
      result: z.file(),
      errors: { NOT_FOUND },
    }),
    changes: stream({
      summary: "Every change from the first item on, which says that the subscription has begun",
      item: z.union([z.object({ kind: z.literal("subscribed") }), change]),
      idempotent: true,
    }),
  },
  report: method({
    summary: "Count the tasks of each person, slowly",
    result: z.array(z.object({ name: z.string(), open: z.int(), done: z.int() })),
    progress: z.object({ checked: z.int(), of: z.int() }),
  }),
};
