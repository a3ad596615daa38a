import { createServer, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { webSocketLink } from "callwire/ws";
import { expect, onTestFinished, test } from "vitest";
import { Behind, clientOf, start } from "./behind.ts";

const routes = [{ method: "*", to: "all" }];

/** Each number is 4 characters here, and 21 behind the gateway. */
function growing(count: number): string {
  const numbers = Array.from({ length: count }, () => "1e20").join();
  return `{"jsonrpc":"2.0","method":"length","params":{"n":[${numbers}]},"id":1}`;
}

test.each(["tcp", "ws"])(
  "a call that grows beyond what callers may send ends no call of others, over %s",
  async (wire) => {
    let release = (): void => {};
    const held = new Promise<string>((resolve) => {
      release = () => resolve("held");
    });
    let running = (): void => {};
    const begun = new Promise<void>((resolve) => {
      running = resolve;
    });
    const methods = {
      hold: () => {
        running();
        return held;
      },
      length: ({ n }: { n: number[] }) => n.length,
    };
    const behind = await Behind.start(methods);
    const web = createServer(methods, { log: silentLog });
    onTestFinished(() => web.close({ drainMs: 0 }));
    const { url } = await serveHttp(web, { port: 0 });
    const link = () => (wire === "tcp" ? behind.link() : webSocketLink(url.replace("http", "ws")));
    const gateway = await start({ upstreams: { all: { targets: { one: link } } }, routes });
    const call = clientOf(gateway).call("hold");
    await begun;
    expect(JSON.parse((await gateway.receive(growing(100_000))) ?? "")).toMatchObject({
      error: { code: -32009, data: { ran: false, reason: "too-large" } },
    });
    // A message that still fits is forwarded, whatever its length.
    expect(JSON.parse((await gateway.receive(growing(45_000))) ?? "")).toMatchObject({
      result: 45_000,
    });
    release();
    expect(await call).toBe("held");
  },
);
