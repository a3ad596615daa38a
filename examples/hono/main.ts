// Hono, Next.js, Workers, Deno and Bun answer a Request with a Response; so does fetchHandler.
import { createClient, createServer } from "callwire";
import { fetchHandler, httpLink } from "callwire/http";
import { Hono } from "hono";
import { methods } from "../quickstart/methods.ts";

const handle = fetchHandler(createServer(methods));

const app = new Hono();
app.get("/", (c) => c.text("An ordinary Hono page"));
// The environment has the address of the client, which limits per address need.
app.all("/rpc", (c) => handle(c.req.raw, c.env));

// A runtime would serve `export default app`. Here it is called in process.
const link = httpLink("http://localhost/rpc", {
  fetch: async (url, init) => app.request(url, init),
});
const { api } = createClient<typeof methods>(link);

console.log("2 + 3 =", await api.math.add({ a: 2, b: 3 }));
for await (const n of api.math.count({ to: 3 })) console.log("count", n);
