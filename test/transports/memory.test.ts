import type { Service } from "callwire";
import {
  type Channel,
  type ChannelListener,
  type CloseReason,
  Connection,
  memoryChannels,
} from "callwire/connection";
import { describeTransport, type Host, Inbox, serverOf } from "./contract.ts";

const transport = { kind: "memory", headers: {}, remoteAddress: undefined };

/** A channel in memory that can break, and whose peer can stop reading. */
class FrailChannel implements Channel {
  readonly #inner: Channel;
  #listener: ChannelListener | undefined;
  #unread: string[] | undefined;
  #unreadBytes = 0;
  #broken = false;

  constructor(inner: Channel) {
    this.#inner = inner;
  }

  get bufferedBytes(): number {
    return this.#unreadBytes + this.#inner.bufferedBytes;
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
    this.#inner.listen({
      message: (text) => this.#broken || listener.message(text),
      fault: (fault) => listener.fault(fault),
      drain: () => listener.drain(),
      end: (error) => this.#broken || listener.end(error),
    });
  }

  send(text: string): void {
    if (this.#broken) return;
    if (this.#unread === undefined) this.#inner.send(text);
    else {
      this.#unread.push(text);
      this.#unreadBytes += text.length;
    }
  }

  close(reason?: CloseReason): void {
    this.#inner.close(reason);
  }

  /** From now on the peer reads nothing. */
  stall(): void {
    this.#unread ??= [];
  }

  break(): void {
    if (this.#broken) return;
    this.#broken = true;
    this.#listener?.end(new Error("the wire broke"));
  }
}

describeTransport("memory", {
  async start(fixture) {
    const server = serverOf(fixture);
    const channels: FrailChannel[] = [];
    const connections: Connection[] = [];

    function serve(): { far: Channel; near: FrailChannel; break(): void } {
      const [far, inner] = memoryChannels().map((channel) => new FrailChannel(channel)) as [
        FrailChannel,
        FrailChannel,
      ];
      channels.push(far, inner);
      connections.push(new Connection(inner, { service: server, transport }));
      return {
        far,
        near: inner,
        break() {
          far.break();
          inner.break();
        },
      };
    }

    server.onClose(() =>
      Promise.all(connections.map((connection) => connection.close("going-away"))),
    );
    const host: Host = {
      connect(service?: Service) {
        const pipe = serve();
        return { link: new Connection(pipe.far, { service, transport }), kill: () => pipe.break() };
      },
      raw() {
        const pipe = serve();
        const inbox = new Inbox();
        pipe.far.listen({
          message: (text) => inbox.push(text),
          fault: () => {},
          drain: () => {},
          end: () => inbox.end(),
        });
        return {
          send: (text) => pipe.far.send(text),
          inbox,
          pause: () => pipe.near.stall(),
          kill: () => pipe.break(),
        };
      },
      close: () => server.close(),
      kill() {
        for (const channel of channels) channel.break();
      },
    };
    return host;
  },
});
