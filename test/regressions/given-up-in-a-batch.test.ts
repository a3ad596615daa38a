import { EventEmitter, once } from "node:events";
import {
  createClient,
  createServer,
  exchangeLink,
  type Link,
  method,
  silentLog,
  stream,
} from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { sseLink } from "callwire/sse";
import { expect, test } from "vitest";

const links: readonly (readonly [string, (url: string) => Link])[] = [
  ["httpLink", httpLink],
  ["httpLink over fetch", (url) => httpLink(url, { fetch: (to, init) => fetch(to, init) })],
  ["sseLink", sseLink],
];

// Over HTTP the call continued, and its result was kept for a reader that never came.
test.each(links)(
  "a call that was cancelled holds up no other of its batch: %s",
  async (_, link) => {
    const events = new EventEmitter();
    const begun = once(events, "begun");
    const server = createServer(
      {
        echo: (text: string) => text,
        many: stream({}, async function* () {
          events.emit("begun");
          await once(events, "go on");
          for (let i = 0; i < 1_000; i++) yield i;
        }),
      },
      { log: silentLog },
    );
    await using http = await serveHttp(server, { port: 0 });
    await using client = createClient(link(http.url), { batch: true });
    const cancel = new AbortController();
    const told = client.notify("echo", ["nobody answers"]);
    const given = client.call("many", [], { signal: cancel.signal });
    const kept = client.call("echo", ["hi"]);
    await begun;
    cancel.abort();
    await expect(given).rejects.toMatchObject({ code: "ABORTED" });
    events.emit("go on");
    expect(await kept).toBe("hi");
    await told;
  },
);

test("a caller that cancelled one call of a batch gets no more progress", async () => {
  const events = new EventEmitter();
  const heard = once(events, "heard");
  const server = createServer({
    work: method({}, async (_, call) => {
      call.progress("begun");
      await once(events, "go on");
      call.progress("nearly done");
      return "done";
    }),
  });
  await using http = await serveHttp(server, { port: 0 });
  await using client = createClient(httpLink(http.url), { batch: true });
  const cancel = new AbortController();
  const reports: unknown[] = [];
  const onProgress = (value: unknown): void => {
    reports.push(value);
    events.emit("heard");
  };
  const given = client.call("work", {}, { signal: cancel.signal, onProgress });
  const kept = client.call("work", {});
  await heard;
  cancel.abort();
  await expect(given).rejects.toMatchObject({ code: "ABORTED" });
  events.emit("go on");
  expect(await kept).toBe("done");
  expect(reports).toEqual(["begun"]);
});

test("a caller that cancelled one call of a batch gets no gap for the others", async () => {
  let sendAgain = (): void => {};
  const link = exchangeLink((_, payload) => {
    sendAgain = () => {
      for (const outgoing of payload.outgoing) outgoing.gap();
    };
    return new Promise(() => {});
  });
  const client = createClient(link, { batch: true });
  const cancel = new AbortController();
  const gaps: string[] = [];
  const given = client.call("m", [], { signal: cancel.signal, onGap: () => gaps.push("given") });
  const kept = client.call("m", [], { onGap: () => gaps.push("kept") });
  await Promise.resolve();
  cancel.abort();
  await expect(given).rejects.toMatchObject({ code: "ABORTED" });
  sendAgain();
  expect(gaps).toEqual(["kept"]);
  await client.close();
  await expect(kept).rejects.toMatchObject({ code: "CLOSED" });
});
