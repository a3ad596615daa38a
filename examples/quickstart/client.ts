import { createClient, isRpcError } from "callwire";
import { httpLink } from "callwire/http";
import type { methods } from "./methods.ts";

const url = process.argv[2] ?? "http://127.0.0.1:8000/rpc";
await using client = createClient<typeof methods>(httpLink(url));
const { api } = client;

console.log("2 + 3 =", await api.math.add({ a: 2, b: 3 }));
console.log("2 + 3 =", await client.call("math/add", [2, 3]));
for await (const n of api.math.count({ to: 3 })) console.log("count", n);

const [sum, echo] = await client.batch((b) => [b.math.add({ a: 1, b: 2 }), b.echo("hi")]);
console.log("in one batch:", sum, echo);

await client.notify("echo", ["nobody answers this"]);

try {
  await client.call("math/add", ["two", 3]);
} catch (error) {
  if (isRpcError(error)) console.log("refused:", error.code, error.message);
}
