/** A peer that asks for items of an upload and does not read them cannot keep the call open. */
import { createClient } from "callwire";
import { Connection } from "callwire/connection";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { HandChannel, transport } from "../connection/hand-channel.ts";
import { turn } from "../transports/contract-methods.ts";

test("the timeout of an upload counts while its items are not read", async () => {
  const clock = new FakeClock();
  const channel = new HandChannel();
  const client = createClient(new Connection(channel, { transport }), { clock, timeoutMs: 1_000 });
  function* endless(): Generator<string> {
    for (;;) {
      // So much that further items wait until the peer reads.
      channel.bufferedBytes = 2 * 1024 * 1024;
      yield "item";
    }
  }
  const outcome = client.call("store", [], { upload: endless() }).catch((thrown) => thrown);
  while (channel.sent.length === 0) await turn();
  const params = { id: channel.ids[0], count: 1_000 };
  channel.hear({ jsonrpc: "2.0", method: "$/uploadCredit", params });
  while (channel.sent.length === 1) await turn();
  await turn();
  clock.advance(5_000);
  const late = turn().then(turn).then(turn);
  expect(await Promise.race([outcome, late])).toMatchObject({ code: "TIMEOUT" });
});
