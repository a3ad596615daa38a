/** Methods with schemas, each as a function and as an async one. */
import { createServer, method, RpcError } from "callwire";
import { z } from "zod";

const pair = z.object({ a: z.number(), b: z.number() });
const order = z.object({
  id: z.string(),
  customer: z.object({ name: z.string(), email: z.string(), vip: z.boolean() }),
  lines: z.array(
    z.object({
      sku: z.string(),
      title: z.string(),
      quantity: z.number().int(),
      price: z.object({ amount: z.number(), currency: z.string() }),
    }),
  ),
  note: z.string().nullable(),
});
const placed = z.object({ order });

export function realisticServer() {
  return createServer({
    add: method({ params: pair }, ({ a, b }) => a + b),
    addLater: method({ params: pair }, async ({ a, b }) => a + b),
    echo: method({ params: placed }, ({ order }) => order),
    echoLater: method({ params: placed }, async ({ order }) => order),
    fail: method({ params: pair }, async () => {
      throw new RpcError(1000, "out of stock");
    }),
  });
}
