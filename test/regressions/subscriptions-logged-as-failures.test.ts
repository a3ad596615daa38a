import { createClient, createServer, method, silentLog, stream, topic } from "callwire";
import { serveHttp } from "callwire/http/node";
import { logging } from "callwire/observability";
import { webSocketLink } from "callwire/ws";
import { expect, onTestFinished, test } from "vitest";
import { RecordingLog, requestText } from "../server/asking.ts";
import { deferred } from "../transports/contract/wire.ts";

// It was a warning: "slow call failed".
test("a reader that leaves a subscription is logged as such, and not as slow", async () => {
  const items = topic<number>();
  const log = new RecordingLog();
  const written = deferred<void>();
  const entry = log.info.bind(log);
  log.info = (fields, message) => {
    entry(fields, message);
    written.resolve();
  };
  const server = createServer(
    { news: stream({}, (_, call) => items.subscribe(call)) },
    { use: [logging({ log, slowMs: 0 })], log: silentLog },
  );
  const http = await serveHttp(server, { port: 0 });
  onTestFinished(() => http.close());
  await using client = createClient(webSocketLink(http.url));
  const reading = client.stream("news")[Symbol.asyncIterator]();
  const first = reading.next();
  while (items.size === 0) await new Promise(setImmediate);
  items.publish(1);
  await first;
  await reading.return?.();
  await written.promise;
  expect(log.entries).toMatchObject([
    { level: "info", message: "call cancelled", fields: { outcome: "cancelled", code: -32800 } },
  ]);
  expect(log.entries[0]?.fields.slow).toBeUndefined();
});

test("a call that its access rule denies is logged with the reason, which is not sent", () => {
  const log = new RecordingLog();
  const methods = { reset: method({ access: { roles: ["operator"] } }, () => "reset") };
  const server = createServer(methods, { use: [logging({ log })], log: silentLog });
  const reply = server.receive(requestText("reset"));
  expect(reply).not.toContain("access rule");
  expect(log.entries).toMatchObject([
    {
      message: "call failed",
      fields: { error: "Method not found", reason: "the access rule of the method" },
    },
  ]);
});
