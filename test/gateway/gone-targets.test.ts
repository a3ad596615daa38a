/** A health check that is in progress when its target dies ends at once, whatever its timeout. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type Log, silentLog } from "callwire";
import { tcpLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { shutdownNotice } from "../../src/connection/shutdown-notice.ts";
import { start } from "./behind.ts";

/** What the gateway logs about a target that does this to the first check. No time passes. */
async function reasonFor(leave: (socket: Socket) => void): Promise<unknown> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    socket.once("data", () => leave(socket));
    onTestFinished(() => void socket.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  let tell: (reason: unknown) => void = () => {};
  const told = new Promise((resolve) => {
    tell = resolve;
  });
  const warn: Log["warn"] = (fields) => tell((fields as { reason?: unknown }).reason);
  const link = () => tcpLink({ port, reconnect: { attempts: 0 } });
  const healthCheck = { timeoutMs: 30_000 };
  const gateway = start(
    { upstreams: { one: { targets: { it: link }, healthCheck } }, routes: [] },
    { clock: new FakeClock(), log: { ...silentLog, warn }, discover: false },
  );
  const reason = await told;
  expect((await gateway).targets()).toMatchObject([{ up: false }]);
  return reason;
}

test("a target that closes its side only", async () => {
  expect(await reasonFor((socket) => socket.end())).toBe("the peer closed the connection");
});

test("a target that shuts down", async () => {
  const reason = await reasonFor((socket) => socket.end(`${shutdownNotice}\n`));
  expect(reason).toBe("the peer is shutting down; the call did not run");
});

test("a target that resets the connection", async () => {
  expect(await reasonFor((socket) => socket.resetAndDestroy())).toMatch(/ECONNRESET$/);
});
