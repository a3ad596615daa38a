import { EventEmitter, once } from "node:events";
import { createClient, createServer, method, stream } from "callwire";
import { serveHttp } from "callwire/http/node";
import { sseLink } from "callwire/sse";
import { expect, test } from "vitest";

// A reader that leaves says so with the id of its last event. Without that, the server keeps the
// call for the grace period, in case the reader only lost its connection.
const graceMs = 60_000;

test("leaving a stream stops a producer that is ahead of the stored events", async () => {
  const events = new EventEmitter();
  const stopped = once(events, "stopped");
  const server = createServer({
    endless: stream({}, async function* () {
      try {
        for (let i = 0; ; i++) yield i;
      } finally {
        events.emit("stopped");
      }
    }),
  });
  // One event is kept; the producer has made more when the reader leaves.
  const http = await serveHttp(server, { port: 0, graceMs, replay: { maxEvents: 1 } });
  const client = createClient(sseLink(http.url));
  for await (const item of client.stream("endless")) if (item === 3) break;
  await stopped;
  await Promise.all([client.close(), server.close()]);
});

test("a call that is cancelled before its first event arrived is stopped", async () => {
  const events = new EventEmitter();
  const started = once(events, "started");
  const stopped = once(events, "stopped");
  const server = createServer({
    hang: method({}, (_, { signal }) => {
      events.emit("started");
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          events.emit("stopped");
          resolve("too late");
        }),
      );
    }),
  });
  const http = await serveHttp(server, { port: 0, graceMs });
  const cancel = new AbortController();
  const link = sseLink(http.url, {
    async fetch(url, init) {
      const response = await fetch(url, init);
      if (init.method === "POST") {
        // The answer is on its way, and the caller has seen no part of it.
        await started;
        cancel.abort();
      }
      return response;
    },
  });
  const client = createClient(link);
  const call = client.call("hang", [], { signal: cancel.signal });
  await expect(call).rejects.toMatchObject({ code: "ABORTED" });
  await stopped;
  await Promise.all([client.close(), server.close()]);
});
