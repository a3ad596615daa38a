/** Conversations about one call, in process and on wires that carry frames of bytes. */
import { connect } from "node:net";
import { type Channel, type ChannelListener, Connection } from "callwire/connection";
import { lengthPrefixFraming } from "callwire/framing";
import { serveSocket } from "callwire/tcp";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { serveService } from "../transports/ws/serving.ts";
import { conversationsOf, frameIn } from "./conversation.ts";
import { serverOf } from "./profiles.ts";
import { expectReply } from "./transcript.ts";

type Message = string | Uint8Array;

/** A peer of the server that sends and receives messages unchanged. */
interface Peer {
  send(message: Message): void;
  /** The next message of the server. */
  next(): Promise<Message>;
}

class Received {
  readonly #messages: Message[] = [];
  readonly #waiting: ((message: Message) => void)[] = [];

  push(message: Message): void {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) this.#messages.push(message);
    else waiting(message);
  }

  next(): Promise<Message> {
    const message = this.#messages.shift();
    return message === undefined
      ? new Promise((resolve) => this.#waiting.push(resolve))
      : Promise.resolve(message);
  }
}

function inProcess(): Peer {
  const received = new Received();
  let listener: ChannelListener | undefined;
  const channel: Channel = {
    bufferedBytes: 0,
    send: (text) => received.push(text),
    sendBytes: (frame) => received.push(frame),
    listen(own) {
      listener = own;
    },
    close: () => queueMicrotask(() => listener?.end()),
  };
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  const connection = new Connection(channel, { service: serverOf("default"), transport });
  onTestFinished(() => connection.close());
  return {
    send(message) {
      if (typeof message === "string") listener?.message(message);
      else listener?.bytes?.(message);
    },
    next: () => received.next(),
  };
}

async function webSocket(): Promise<Peer> {
  const { url, kill } = await serveService(serverOf("default"));
  onTestFinished(kill);
  const received = new Received();
  const ws = new WebSocket(url);
  ws.on("message", (data: Buffer, isBinary) => received.push(isBinary ? data : data.toString()));
  await new Promise((resolve) => ws.once("open", resolve));
  return { send: (message) => ws.send(message), next: () => received.next() };
}

async function lengthPrefixed(): Promise<Peer> {
  const framing = lengthPrefixFraming;
  const server = await serveSocket(serverOf("default"), { port: 0, framing });
  const received = new Received();
  const socket = connect(server.port as number, "127.0.0.1");
  onTestFinished(async () => {
    socket.destroy();
    await server.close();
  });
  let rest = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE(0)) {
      const end = 4 + rest.readUInt32BE(0);
      const body = rest.subarray(4, end);
      rest = rest.subarray(end);
      received.push(body[0] === 0 ? body : body.toString());
    }
  });
  return {
    send(message) {
      const body = Buffer.from(message);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(body.length);
      socket.write(Buffer.concat([length, body]));
    },
    next: () => received.next(),
  };
}

const wires = {
  "in process": inProcess,
  "over WebSocket": webSocket,
  "over TCP with a length prefix": lengthPrefixed,
};

/** The server may send nothing else before the answer to this. */
const last = '{"jsonrpc":"2.0","method":"echo","params":["last"],"id":"last"}';
const lastReply = '{"jsonrpc":"2.0","result":"last","id":"last"}';

describe.each(Object.entries(wires))("conversations %s", (_, open) => {
  describe.each(["streams", "uploads", "bytes"])("about %s", (topic) => {
    test.each(conversationsOf(`connections/${topic}.txt`))("$title", async ({ lines }) => {
      const peer = await open();
      for (const { isSent, text } of lines) {
        const frame = frameIn(text);
        if (isSent) {
          peer.send(frame ?? text);
          continue;
        }
        const message = await peer.next();
        if (frame !== undefined) expect([...(message as Uint8Array)]).toEqual([...frame]);
        else expectReply(`${message}`, { text, exact: false });
      }
      peer.send(last);
      expect(await peer.next()).toBe(lastReply);
    });
  });
});
