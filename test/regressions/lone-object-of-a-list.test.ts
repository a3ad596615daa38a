import { type } from "arktype";
import { createClient, createServer, method } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import * as v from "valibot";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";

// A single object travels by name, and methods whose params are an array refused it.
const methods = {
  zod: method({ params: z.tuple([z.object({ x: z.number() })]) }, (points) => points),
  valibot: method({ params: v.array(v.object({ x: v.number() })) }, (points) => points),
  arktype: method({ params: type([{ x: "number" }]) }, (points) => points),
  slow: method(
    { params: z.array(z.object({ x: z.number().refine(async () => true) })) },
    (points) => points,
  ),
};
const server = createServer(methods);
const { url } = await serveHttp(server, { port: 0 });
const { api } = createClient<typeof methods>(httpLink(url));
afterAll(() => server.close());

test.each(["zod", "valibot", "arktype", "slow"] as const)(
  "a list of one object reaches its method: %s",
  async (name) => {
    expect(await api[name]({ x: 1 })).toEqual([{ x: 1 }]);
    await expect(api[name]({ x: "1" } as never)).rejects.toMatchObject({
      code: -32602,
      data: { details: expect.stringMatching(/^0\.x: /) },
    });
  },
);
