import { createServer, method, silentLog } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { expect, onTestFinished, test } from "vitest";
import { start } from "./behind.ts";

test.each([
  ["adds itself to the hops that a caller tells of", ["Forwarded"], "for=10.0.0.7, for=127.0.0.1"],
  ["tells of nothing but itself where these stay here", [], "for=127.0.0.1"],
])("a gateway %s", async (_, forwardHeaders, forwarded) => {
  const told = method({}, (_, { transport }) => transport.headers.forwarded);
  const server = createServer({ told }, { log: silentLog });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const behind = await serveHttp(server, { port: 0 });
  const gateway = await start({
    upstreams: { one: { targets: { one: () => httpLink(behind.url) }, forwardHeaders } },
    routes: [{ method: "*", to: "one" }],
  });
  const { url } = await serveHttp(gateway, { port: 0 });
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", forwarded: "for=10.0.0.7" },
    body: '{"jsonrpc":"2.0","id":1,"method":"told"}',
  });
  expect(await response.json()).toMatchObject({ result: forwarded });
});
