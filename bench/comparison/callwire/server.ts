import { createServer, method, stream, topic } from "callwire";
import { serveHttp } from "callwire/http/node";
import { z } from "zod";

const tasks = new Map<string, string>();
const added = topic<string>();

export const methods = {
  tasks: {
    get: method(
      {
        params: z.object({ id: z.string() }),
        errors: { NOT_FOUND: { code: 1404, data: z.object({ id: z.string() }) } },
      },
      ({ id }, _call, errors) => {
        const title = tasks.get(id);
        if (title === undefined) throw errors.NOT_FOUND({ id });
        return { id, title };
      },
    ),
    add: method({ params: z.object({ id: z.string(), title: z.string() }) }, ({ id, title }) => {
      tasks.set(id, title);
      added.publish(title);
      return { id, title };
    }),
    added: stream({ item: z.string() }, (_params, call) => added.subscribe(call)),
  },
};

const { url } = await serveHttp(createServer(methods), { port: Number(process.env.PORT ?? 0) });
console.log(url);
