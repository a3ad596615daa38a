/** A peer that asks for bytes that do not exist, and reads none of the answers, is disconnected. */
import { createServer, silentLog } from "callwire";
import { Connection } from "callwire/connection";
import { expect, test } from "vitest";
import { HandChannel, transport } from "../connection/hand-channel.ts";
import { turn } from "../transports/contract-methods.ts";

class UnreadChannel extends HandChannel {
  sendBytes(frame: Uint8Array): void {
    this.bufferedBytes += frame.length;
  }
}

test("answers about bytes that do not exist do not fill memory", async () => {
  const channel = new UnreadChannel();
  const service = createServer({}, { log: silentLog, limits: { maxBufferedBytes: 1_000 } });
  const connection = new Connection(channel, { service, transport });
  const params = { maxFrameBytes: 1_000 };
  channel.hear({ jsonrpc: "2.0", id: "hello", method: "$/acceptsBytes", params });
  while (channel.sent.length === 0) await turn();
  for (let stream = 1; stream <= 1_000; stream++) {
    const wanted = { id: 1, part: 1, of: "result", stream, credit: 1 };
    channel.hear({ jsonrpc: "2.0", method: "$/readBytes", params: wanted });
  }
  expect(connection.isOpen).toBe(false);
  expect(channel.bufferedBytes).toBeLessThan(1_100);
});
