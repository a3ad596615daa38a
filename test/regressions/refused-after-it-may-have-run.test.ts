import { createClient, failure, fallback, WireError } from "callwire";
import { describe, expect, test } from "vitest";
import { type Behaviour, HandLink } from "../client/hand-link.ts";
import { start } from "../gateway/behind.ts";
import { replay } from "../model/explorer.ts";

const lost: Behaviour = () => {
  throw new WireError("CONNECTION_LOST", "cut");
};
const refused: Behaviour = () =>
  failure({ code: -32010, message: "Slow down", data: { ran: false, reason: "rate-limited" } });
const unknown = { code: -32010, message: "Slow down", data: { ran: "unknown" } };

/** The first attempt may have run, so the refusal of the second must not say "did not run". */
describe("an idempotent call that is lost, repeated and then refused may have run", () => {
  test("on a link that reconnects to a server that stops", async () => {
    const may = {
      lose: 1,
      cancel: 0,
      stop: 1,
      finish: 0,
      crash: 0,
      start: 0,
      close: 0,
      wait: 2,
      sleep: 0,
    };
    await replay({ name: "regression", calls: ["write", "read"], may }, [
      "call",
      "call",
      "server receives 0",
      "server receives 0",
      "lose 0",
      "client receives 0",
      "stop",
      "server receives 1",
      "client receives 1",
      "wait",
      "wait",
    ]);
  });

  test("on the next link of a fallback, alone and in a batch", async () => {
    const client = createClient<{ m: () => unknown }>(
      fallback([new HandLink(lost), new HandLink(refused)]),
      { idempotent: ["m"] },
    );
    await expect(client.call("m")).rejects.toMatchObject(unknown);
    const again = createClient<{ m: () => unknown }>(
      fallback([new HandLink(lost), new HandLink(refused)]),
      { idempotent: ["m"] },
    );
    expect(await again.batchSettled((b) => [b.m()])).toMatchObject([{ reason: unknown }]);
  });

  test("on the next target of a gateway", async () => {
    const turns = [lost, refused];
    const link = () => new HandLink((...call) => turns.shift()?.(...call));
    const targets = { one: link, two: link };
    const gateway = await start(
      {
        upstreams: { all: { targets, healthCheck: false } },
        routes: [{ method: "*", to: "all", idempotent: true }],
      },
      { discover: false },
    );
    const reply = await gateway.receive('{"jsonrpc":"2.0","method":"m","id":1}');
    expect(JSON.parse(reply ?? "")).toMatchObject({ error: unknown });
  });
});
