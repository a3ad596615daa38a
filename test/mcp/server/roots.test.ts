/** A client of the legacy era notifies the server that it works in other folders now. */
import { createServer, silentLog } from "callwire";
import { Connection, memoryChannels } from "callwire/connection";
import { serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, type RootsListener, tool } from "callwire/mcp";
import { mcpChannelLink, mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";

const info = { name: "test", version: "1", log: silentLog };

function serving(onRootsChanged: RootsListener, options = {}) {
  const where = tool({}, async (_, call) => (await call.roots()).map(({ uri }) => uri).join(" "));
  return mcpServer({ where }, { ...info, onRootsChanged, ...options });
}

test.each(["HTTP", "a channel"])(
  "over %s the listener learns of it, and asks which",
  async (wire) => {
    let tell: (value: unknown) => void = () => {};
    const told = new Promise((resolve) => {
      tell = resolve;
    });
    const server = serving(async (call) => tell([call.client.info?.name, await call.roots()]));
    await using http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(server) });
    const [near, far] = memoryChannels();
    const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
    new Connection(far, { service: server, transport });
    // Time stands still, so that the client waits for the stream, however slowly it opens.
    const clock = new FakeClock();
    const link =
      wire === "HTTP"
        ? mcpHttpLink(new URL("/mcp", http.url), { clock })
        : mcpChannelLink(() => near);
    let uri = "file:///old";
    await using client = mcpClient(link, { ...info, era: "legacy", roots: () => [{ uri }] });
    const where = async () => (await client.callTool("where")).content[0];
    // Over HTTP a server reaches its client outside of requests while the client listens.
    await using _ = await client.subscribe({ tools: true }, () => {});
    expect(await where()).toMatchObject({ text: "file:///old" });
    uri = "file:///new";
    expect(await where()).toMatchObject({ text: "file:///new" });
    await client.rootsChanged();
    expect(await told).toEqual(["test", [{ uri: "file:///new" }]]);
    await client.close();
    await server.close();
  },
);

/** Sends notifications as a client would, in process. */
function saying(server: ReturnType<typeof serving>) {
  const [near, far] = memoryChannels();
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  new Connection(far, { service: server, transport });
  const client = new Connection(near, { transport });
  const changed = (): boolean => client.notify("notifications/roots/list_changed");
  return { client, changed };
}

test("for repeated notifications one listener runs at a time, and once more after the last", async () => {
  const ends: (() => void)[] = [];
  const server = serving(
    () =>
      new Promise<void>((resolve) => {
        ends.push(resolve);
      }),
  );
  const { client, changed } = saying(server);
  for (let i = 0; i < 5; i++) changed();
  // Everything that was sent before this has arrived.
  await client.call("ping");
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await client.call("ping");
  expect(ends).toHaveLength(2);
  ends[1]?.();
  await client.call("ping");
  expect(ends).toHaveLength(2);
  changed();
  await client.call("ping");
  expect(ends).toHaveLength(3);
  await client.close();
  await server.close();
});

test("a listener that throws does no harm, and one that takes too long is aborted", async () => {
  const clock = new FakeClock();
  const signals: AbortSignal[] = [];
  const server = serving(
    ({ signal }) => {
      signals.push(signal);
      throw new Error("broken");
    },
    { clock, timeoutMs: 1_000 },
  );
  const { client, changed } = saying(server);
  changed();
  await client.call("ping");
  changed();
  await client.call("ping");
  expect(signals).toHaveLength(2);
  await client.close();
  await server.close();

  let stopped = false;
  const slow = serving(
    ({ signal }) =>
      new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          stopped = true;
          resolve();
        });
      }),
    { clock, timeoutMs: 1_000 },
  );
  const other = saying(slow);
  other.changed();
  await other.client.call("ping");
  clock.advance(1_001);
  expect(stopped).toBe(true);
  await other.client.close();
  await slow.close();
});
