import { EventEmitter, on } from "node:events";
import { initTRPC, TRPCError } from "@trpc/server";
import { createHTTPServer } from "@trpc/server/adapters/standalone";
import { z } from "zod";

const tasks = new Map<string, string>();
const added = new EventEmitter();
const t = initTRPC.create();

const methods = t.router({
  tasks: t.router({
    get: t.procedure.input(z.object({ id: z.string() })).query(({ input: { id } }) => {
      const title = tasks.get(id);
      if (title === undefined) throw new TRPCError({ code: "NOT_FOUND", message: id });
      return { id, title };
    }),
    add: t.procedure
      .input(z.object({ id: z.string(), title: z.string() }))
      .mutation(({ input: { id, title } }) => {
        tasks.set(id, title);
        added.emit("added", title);
        return { id, title };
      }),
    added: t.procedure.subscription(async function* ({ signal }) {
      for await (const [title] of on(added, "added", signal ? { signal } : {})) {
        yield title as string;
      }
    }),
  }),
});
export type Methods = typeof methods;

const server = createHTTPServer({ router: methods });
server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
});
