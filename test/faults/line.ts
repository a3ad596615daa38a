import { once } from "node:events";
import {
  type AddressInfo,
  connect,
  createServer,
  type NetConnectOpts,
  type Server,
  type Socket,
} from "node:net";

/**
 * What the line does to bytes: passes them on, silently holds all of them back, passes them in
 * small parts, or disturbs the next ones for the client.
 */
type Mode = "plain" | "silent" | "slow" | "twice" | "truncate" | "garbage";

const garbage = Buffer.from([0xff, 0xfe, 0x00, 0x7b, 0x22, 0xc3, 0x28, 0x0d, 0x0a, 0x0d, 0x0a]);
const smallPart = 64;

/** Stands between a client and a server, and disturbs what they send. */
export class Line {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  mode: Mode = "plain";

  private constructor(target: NetConnectOpts) {
    const options = { allowHalfOpen: true, noDelay: true };
    this.#server = createServer(options, (near) => {
      const far = connect({ host: "127.0.0.1", ...target, ...options });
      this.#join(near, far, false);
      this.#join(far, near, true);
    });
  }

  /** Listens at a free port, or at a path. */
  static async open(target: NetConnectOpts, path?: string): Promise<Line> {
    const line = new Line(target);
    if (path === undefined) line.#server.listen(0, "127.0.0.1");
    else line.#server.listen(path);
    await once(line.#server, "listening");
    return line;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Breaks every connection at once, with a reset if the wire has one. */
  cut(): void {
    for (const socket of this.#sockets) {
      if (socket.remoteFamily === undefined) socket.destroy();
      else socket.resetAndDestroy();
    }
  }

  close(): void {
    this.#server.close();
    this.cut();
  }

  #join(from: Socket, to: Socket, isReply: boolean): void {
    this.#sockets.add(from);
    from.on("error", () => {});
    from.on("close", () => {
      this.#sockets.delete(from);
      to.destroy();
    });
    let last: Promise<void> = Promise.resolve();
    from.on("data", (chunk) => {
      last = last.then(() => this.#pass(chunk, to, isReply));
    });
    from.on("end", () => {
      last = last.then(() => void (this.mode === "silent" || to.end()));
    });
  }

  async #pass(chunk: Buffer, to: Socket, isReply: boolean): Promise<void> {
    const { mode } = this;
    if (mode === "silent") return;
    if (mode === "slow") {
      for (let at = 0; at < chunk.length; at += smallPart) {
        to.write(chunk.subarray(at, at + smallPart));
        await new Promise(setImmediate);
      }
      return;
    }
    if (!isReply || mode === "plain") {
      to.write(chunk);
      return;
    }
    if (mode === "twice") to.write(Buffer.concat([chunk, chunk]));
    else {
      this.mode = "plain";
      if (mode === "truncate") to.end(chunk.subarray(0, chunk.length / 2));
      else to.write(Buffer.concat([garbage, chunk]));
    }
  }
}
