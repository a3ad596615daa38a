import { createServer, silentLog } from "callwire";
import { Connection } from "callwire/connection";
import { expect, test } from "vitest";
import { HandChannel } from "../connection/hand-channel.ts";

// Some servers push messages of their own making. A client that answered them with an error got an
// error without an id in return, and that failed any open call.

const transport = { kind: "hand", headers: {}, remoteAddress: undefined };
const pushed = '{"notification":"news","params":["hi"]}';

test("a client does not answer messages that are neither a call nor a reply", () => {
  const channel = new HandChannel();
  new Connection(channel, { transport, log: silentLog });
  channel.listener.message(pushed);
  expect(channel.sent).toEqual([]);
});

test("a server answers it as an invalid request", () => {
  const channel = new HandChannel();
  new Connection(channel, { transport, service: createServer({}, { log: silentLog }) });
  channel.listener.message(pushed);
  expect(channel.messages).toMatchObject([{ error: { code: -32600 }, id: null }]);
});
