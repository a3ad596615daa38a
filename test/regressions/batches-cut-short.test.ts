import { EventEmitter, once } from "node:events";
import { createClient, createServer, method } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { sseLink } from "callwire/sse";
import { expect, test } from "vitest";

// The batch had no answer, like one of notifications.
test.each([
  ["httpLink", httpLink],
  ["sseLink", sseLink],
] as const)("each call of a batch hears that its server has stopped: %s", async (_, linkTo) => {
  const events = new EventEmitter();
  const begun = once(events, "begun");
  const methods = {
    echo: (text: string) => text,
    wait: method({}, async (_params, { signal }) => {
      events.emit("begun");
      await once(signal, "abort");
    }),
  };
  const limits = { maxBatchConcurrency: 1 };
  await using server = createServer(methods, { limits });
  const http = await serveHttp(server, { port: 0, drainMs: 0 });
  await using client = createClient<typeof methods>(linkTo(http.url));
  const outcomes = client.batchSettled((b) => [b.echo("hi"), b.wait(), b.wait()]);
  await begun;
  await http.close();
  const reason = {
    code: -32006,
    data: {
      ran: true,
      reason: "stopping",
      details: "the server ended the call before it was done",
    },
  };
  expect(await outcomes).toMatchObject([{ value: "hi" }, { reason }, { reason }]);
});
