import { createClient, createServer, isRpcError, method, RpcError, silentLog } from "callwire";
import { memoryPair } from "callwire/connection";
import { expect, test } from "vitest";

test("an error of another server does not pass through a handler", async () => {
  const [toUpstream] = memoryPair(undefined, createServer({}));
  const upstream = createClient(toUpstream);
  const server = createServer(
    {
      careless: () => upstream.call("missing"),
      careful: method({}, async () => {
        try {
          return await upstream.call("missing");
        } catch (error) {
          if (isRpcError(error, -32601)) throw new RpcError(1004, "Upstream is too old");
          throw error;
        }
      }),
    },
    { log: silentLog },
  );
  const [link] = memoryPair(undefined, server);
  const client = createClient(link);
  await expect(client.call("careless")).rejects.toMatchObject({ code: -32603 });
  await expect(client.call("careful")).rejects.toMatchObject({ code: 1004 });
});
