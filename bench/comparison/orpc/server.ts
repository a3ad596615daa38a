import { createServer } from "node:http";
import { EventPublisher, os } from "@orpc/server";
import { RPCHandler } from "@orpc/server/node";
import { z } from "zod";

const tasks = new Map<string, string>();
const added = new EventPublisher<{ added: string }>();

export const methods = {
  tasks: {
    get: os
      .input(z.object({ id: z.string() }))
      .errors({ NOT_FOUND: { data: z.object({ id: z.string() }) } })
      .handler(({ input: { id }, errors }) => {
        const title = tasks.get(id);
        if (title === undefined) throw errors.NOT_FOUND({ data: { id } });
        return { id, title };
      }),
    add: os
      .input(z.object({ id: z.string(), title: z.string() }))
      .handler(({ input: { id, title } }) => {
        tasks.set(id, title);
        added.publish("added", title);
        return { id, title };
      }),
    added: os.handler(async function* ({ signal }) {
      for await (const title of added.subscribe("added", signal ? { signal } : {})) yield title;
    }),
  },
};

const handler = new RPCHandler(methods);
const server = createServer(async (request, response) => {
  const { matched } = await handler.handle(request, response, { context: {} });
  if (!matched) response.writeHead(404).end();
});
server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
});
