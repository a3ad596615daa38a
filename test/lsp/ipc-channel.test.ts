import { EventEmitter } from "node:events";
import { Connection } from "callwire/connection";
import { lspServer } from "callwire/lsp";
import { expect, test } from "vitest";
import { IpcChannel } from "../../src/lsp/ipc-channel.ts";

/** A process at the other side of Node's IPC. */
class Editor extends EventEmitter {
  readonly connected = true;
  readonly received: unknown[] = [];

  send(message: unknown, sent: (error: null) => void): boolean {
    this.received.push(message);
    sent(null);
    return true;
  }
}

test("a message that nests too deeply to be serialized gets an error, and the connection stays", () => {
  const editor = new Editor();
  const service = lspServer({});
  const transport = { kind: "ipc", headers: {}, remoteAddress: undefined };
  const connection = new Connection(new IpcChannel(editor), { service, transport });
  const depth = 200_000;
  const params: unknown = JSON.parse("[".repeat(depth) + "]".repeat(depth));
  editor.emit("message", { jsonrpc: "2.0", id: 1, method: "initialize", params });
  expect(editor.received).toMatchObject([{ id: null, error: { code: -32700 } }]);
  expect(connection.isOpen).toBe(true);
});
