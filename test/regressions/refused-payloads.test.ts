import { createClient, createServer, type Link } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";

// A payload that is too large is answered without an id, and every open call failed as if it were that one.
function held() {
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = createServer({
    hold: () => gate.then(() => "held"),
    size: (text: string) => text.length,
  });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return { server, release };
}

const refused = (limit: string, max: number) => ({ code: -32600, data: { limit, max } });
const tooLong = refused("maxMessageBytes", 1_048_576);
const tooMany = refused("maxBatch", 100);

const wires: Readonly<
  Record<string, (server: ReturnType<typeof held>["server"]) => Promise<Link>>
> = {
  TCP: async (server) => {
    const { port } = await serveSocket(server, { port: 0 });
    return tcpLink({ port: port as number });
  },
  WebSocket: async (server) => {
    const { url } = await serveHttp(server, { port: 0 });
    return webSocketLink(url.replace("http", "ws"));
  },
};

describe.each(Object.entries(wires))("over %s", (_, open) => {
  test("a batch that is too long fails alone, and says why", async () => {
    const { server, release } = held();
    await using client = createClient(await open(server));
    const others = [client.call("hold"), client.call("hold")];
    const small = client.batchSettled((b) => [b["hold"]?.(), b["hold"]?.()] as never);
    const long = await client.batchSettled(
      (b) => Array.from({ length: 101 }, () => b["size"]?.("x")) as never,
    );
    for (const { reason } of long as readonly { reason: unknown }[]) {
      expect(reason).toMatchObject(tooMany);
    }
    release();
    expect(await Promise.all(others)).toEqual(["held", "held"]);
    expect(await small).toMatchObject([{ value: "held" }, { value: "held" }]);
  });

  test("a call that is too long gets the reason, and the others learn that the wire broke", async () => {
    const { server } = held();
    await using client = createClient(await open(server));
    const other = client.call("hold");
    const long = client.call("size", ["x".repeat(1_100_000)]);
    const lost = expect(other).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await expect(long).rejects.toMatchObject(tooLong);
    await lost;
    expect(await client.call("size", ["ä".repeat(500_000)])).toBe(500_000);
  });
});
