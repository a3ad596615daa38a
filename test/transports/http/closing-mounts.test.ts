/** Mounted services may finish, too, when their server closes. */
import { createServer, silentLog } from "callwire";
import { type NodeHandler, serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, tool } from "callwire/mcp";
import { mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { HttpClient, request } from "../../mcp/server/asking.ts";
import { whileTimePasses } from "../../passing-time.ts";
import { deferred } from "../contract/wire.ts";

/** A server that is told to close while a caller waits; time passes then, but less than calls have to finish. */
async function closing(mounts: Readonly<Record<string, NodeHandler>>) {
  const clock = new FakeClock();
  const server = createServer({}, { clock, log: silentLog });
  const http = await serveHttp(server, { port: 0, drainMs: 60_000, mounts });
  onTestFinished(() => whileTimePasses(clock, 5_000, http.close()));
  const close = async (): Promise<() => Promise<void>> => {
    const closed = server.close();
    while (http.server.listening) await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 20; turn++) {
      clock.advance(500);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return () => whileTimePasses(clock, 500, closed);
  };
  return { origin: new URL(http.url).origin, close };
}

/** A tool that has reported progress, and ends when the test says so. */
function working() {
  const begun = deferred();
  const ending = deferred();
  const work = tool({}, async (_, call) => {
    call.progress(1);
    begun.resolve();
    await ending.promise;
    return "done";
  });
  const agents = mcpServer({ work }, { name: "test", version: "1", log: silentLog });
  onTestFinished(() => agents.close());
  return { agents, begun: begun.promise, end: ending.resolve };
}

test.each([
  ["as JSON", {}],
  ["as events, of which some were sent", { _meta: { progressToken: "p" } }],
])("a call of an agent that is answered %s", async (_, meta) => {
  const { agents, begun, end } = working();
  const { origin, close } = await closing(mcpMounts(agents));
  const client = new HttpClient(`${origin}/mcp`);
  await client.initialize();
  const answer = client.post(request("tools/call", { name: "work", ...meta }));
  await begun;
  const closed = await close();
  end();
  expect(await (await answer).text()).toContain("done");
  await closed();
});

test("a call of an agent over the transport of 2024-11-05", async () => {
  const { agents, begun, end } = working();
  const { origin, close } = await closing(mcpMounts(agents, { httpSsePath: "/sse" }));
  const self = { name: "test", version: "1", era: "legacy", log: silentLog } as const;
  await using client = mcpClient(mcpHttpLink(`${origin}/sse`), self);
  const answer = client.callTool("work");
  await begun;
  const closed = await close();
  end();
  expect(await answer).toMatchObject({ content: [{ text: "done" }] });
  await closed();
});

test("a request to a handler of one's own", async () => {
  const begun = deferred();
  const ending = deferred();
  const { origin, close } = await closing({
    "/page": async (_, response) => {
      begun.resolve();
      await ending.promise;
      response.end("done");
    },
  });
  const answer = fetch(`${origin}/page`);
  await begun.promise;
  const closed = await close();
  ending.resolve();
  expect(await (await answer).text()).toBe("done");
  await closed();
});

test("a client that only listens is not waited for", async () => {
  const agents = mcpServer({}, { name: "test", version: "1", log: silentLog });
  onTestFinished(() => agents.close());
  const { origin, close } = await closing(mcpMounts(agents));
  const client = new HttpClient(`${origin}/mcp`);
  await client.initialize();
  const cut = expect((await client.get()).text()).rejects.toThrow();
  const closed = await close();
  await cut;
  await closed();
});
