/** Progress reported under a token that a caller chose, as language servers do. */
import { createClient, createServer, method, type Service, silentLog } from "callwire";
import { serveSocket, tcpLink } from "callwire/tcp";
import { describe, expect, onTestFinished, test } from "vitest";
import { deferred } from "../transports/contract/wire.ts";
import { RawSocket } from "../transports/tcp/raw-socket.ts";
import { start } from "./behind.ts";

const partial = "textDocument/references";

/** A server that reports parts of a result, and the tokens under which it was asked to. */
async function behind(per: "gateway" | "connection") {
  const begun = deferred<number>();
  const release = deferred<void>();
  const tokens: unknown[] = [];
  const server = createServer(
    {
      hold: method({}, async (_, { id }) => {
        begun.resolve(id as number);
        await release.promise;
        return "held";
      }),
      [partial]: method({}, (params, { peer }) => {
        const { partialResultToken: token } = params as { partialResultToken: unknown };
        tokens.push(token);
        peer.notify("$/progress", { token, value: "a part" });
        return "the rest";
      }),
      push: method({}, (params, { peer }) => {
        peer.notify("$/progress", params as Record<string, unknown>);
        return "pushed";
      }),
    },
    { log: silentLog, timeoutMs: 1e9 },
  );
  onTestFinished(() => server.close({ drainMs: 0 }));
  const { port = 0 } = await serveSocket(server, { port: 0 });
  const targets = {
    one: (service?: Service) => tcpLink({ port, ...(service && { service }) }),
  };
  const one = { per, targets, healthCheck: false } as const;
  const other = createServer(
    { wait: method({}, () => release.promise.then(() => "waited")) },
    { log: silentLog },
  );
  onTestFinished(() => other.close({ drainMs: 0 }));
  const { port: otherPort = 0 } = await serveSocket(other, { port: 0 });
  const two = { targets: { two: () => tcpLink({ port: otherPort }) }, healthCheck: false } as const;
  const gateway = await start({
    upstreams: { one, two },
    routes: [
      { method: "wait", to: "two" },
      { method: "*", to: "one" },
    ],
  });
  const served = await serveSocket(gateway, { port: 0 });
  return { begun, release, tokens, port: served.port as number };
}

test.each(["gateway", "connection"] as const)(
  "parts of a result reach no call of another by its id, with one connection per %s",
  async (per) => {
    const { begun, release, port, tokens } = await behind(per);
    const reports: unknown[] = [];
    await using victim = createClient(tcpLink({ port }));
    await using attacker = createClient(tcpLink({ port }));
    const onProgress = (value: unknown): void => void reports.push(value);
    const held = victim.call("hold", undefined, { onProgress });
    const id = await begun.promise;
    expect(await attacker.call(partial, { partialResultToken: id })).toBe("the rest");
    release.resolve();
    expect(await held).toBe("held");
    expect(reports).toEqual([]);
    expect(tokens).not.toContain(id);
  },
);

describe("with a connection of its own", () => {
  test.each(["mine", 7])("a caller gets parts under its own token %j", async (token) => {
    const { port } = await behind("connection");
    const caller = new RawSocket({ port });
    const params = { partialResultToken: token };
    // Two with the same token at a time, and each gets only its own progress.
    for (const id of [7, 8]) {
      caller.send(`${JSON.stringify({ jsonrpc: "2.0", method: partial, params, id })}\n`);
    }
    const lines = (await caller.lines(4)).map((line) => JSON.parse(line) as object);
    const report = { jsonrpc: "2.0", method: "$/progress", params: { token, value: "a part" } };
    expect(lines.filter((line) => "method" in line)).toEqual([report, report]);
  });

  test("a target cannot report on calls that go to another", async () => {
    const { port, release } = await behind("connection");
    const caller = new RawSocket({ port });
    const send = (message: object) =>
      caller.send(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    send({ method: "wait", id: 1 });
    send({ method: "wait", id: 2, params: { workDoneToken: "two" } });
    for (const token of [1, "two", "of the target"]) {
      send({ method: "push", id: `push ${token}`, params: { token, value: "forged" } });
    }
    const before = (await caller.lines(4)).map((line) => JSON.parse(line) as { params?: object });
    const pushed = before.flatMap(({ params }) => params ?? []);
    expect(pushed).toEqual([{ token: "of the target", value: "forged" }]);
    release.resolve();
    expect((await caller.lines(6)).slice(4).join()).toContain("waited");
  });
});
