/** Connections for single callers are limited, since each may be a process. */
import { createClient, type Link } from "callwire";
import type { UpstreamConfig } from "callwire/gateway";
import { serveSocket, tcpLink } from "callwire/tcp";
import { expect, onTestFinished, test } from "vitest";
import { ConfigReader } from "../../src/cli/gateway/config.ts";
import { ownPort } from "../own-port.ts";
import { deferred } from "../transports/contract/wire.ts";
import { Behind, start } from "./behind.ts";

interface Front {
  readonly opened: Link[];
  /** Resolves when the first link to the target is told to close. */
  readonly closing: Promise<void>;
  caller(): ReturnType<typeof createClient>;
}

/** A gateway with room for one caller; `closed` is awaited before a link to the target counts as closed. */
async function front(closed: Promise<void> = Promise.resolve()): Promise<Front> {
  const behind = await Behind.start({ who: () => "here" });
  const opened: Link[] = [];
  const closing = deferred();
  const one = (): Link => {
    const link = behind.link();
    const close = link.close.bind(link);
    opened.push(link);
    return Object.assign(link, {
      close: () => {
        closing.resolve();
        return Promise.all([close(), closed]).then(() => {});
      },
    });
  };
  const gateway = await start({
    upstreams: {
      one: { per: "connection", maxConnections: 1, healthCheck: false, targets: { one } },
    },
    routes: [{ method: "*", to: "one" }],
  });
  const port = await ownPort();
  await serveSocket(gateway, { port });
  return {
    opened,
    closing: closing.promise,
    caller: () => {
      const client = createClient(tcpLink({ port }));
      onTestFinished(() => client.close());
      return client;
    },
  };
}

const busy = {
  code: -32005,
  data: { ran: false, reason: "busy", details: expect.stringContaining("in use") },
};

test("a caller for which there is no connection gets an error that its call did not run", async () => {
  const { opened, caller } = await front();
  const [first, second] = [caller(), caller()];
  expect(await first.call("who")).toBe("here");
  await expect(second.call("who")).rejects.toMatchObject(busy);
  expect(await first.call("who")).toBe("here");
  // The request for the description uses a connection that all callers share.
  const own = opened.length;
  await first.close();
  await expect.poll(() => second.call("who").catch(() => undefined)).toBe("here");
  expect(opened).toHaveLength(own + 1);
});

test("a connection counts until it is closed, so that coming and going starts no more", async () => {
  const closed = deferred();
  const { caller, closing } = await front(closed.promise);
  const [first, second] = [caller(), caller()];
  await first.call("who");
  await first.close();
  await closing;
  await expect(second.call("who")).rejects.toMatchObject(busy);
  closed.resolve();
  await expect.poll(() => second.call("who").catch(() => undefined)).toBe("here");
});

test("programs get at most 32 unless a config says otherwise", () => {
  const most = (entry: object): number | undefined => {
    const file = { upstreams: { x: entry }, routes: [{ method: "*", to: "x" }] };
    return (new ConfigReader().assemble({ file }).config.upstreams.x as UpstreamConfig)
      .maxConnections;
  };
  expect(most({ url: "stdio:node x.mjs" })).toBe(32);
  expect(most({ url: "stdio:node x.mjs", maxConnections: 5 })).toBe(5);
  expect(most({ url: "tcp://127.0.0.1:1" })).toBeUndefined();
});

test("an invalid limit is refused", async () => {
  const one = { maxConnections: 0, targets: { one: (): never => undefined as never } };
  await expect(start({ upstreams: { one }, routes: [{ method: "*", to: "one" }] })).rejects.toThrow(
    "maxConnections must be a number above 0, not 0",
  );
});
