/**
 * Sends the same bytes to the fast path and to Node alone; both must see the same requests and send
 * the same replies.
 */
import { createServer as createNodeServer, type Server } from "node:http";
import { Duplex } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import type { HttpMessage, MessageLimits } from "../../../src/http/http-message.ts";
import { NodeMessage } from "../../../src/http/node-message.ts";
import { systemClock } from "../../../src/protocol/clock.ts";
import { WireBuffers } from "../../../src/protocol/memory-bounds.ts";
import { FastPath } from "../../../src/serve/fast-path.ts";
import { cut } from "../json.ts";
import { broken, fuzzTarget } from "../target.ts";
import { pieceLengthsOf, requestBytes } from "./http-requests.ts";

interface Seen {
  readonly method: string | undefined;
  readonly target: string;
  readonly headers: unknown;
  readonly body: string | undefined;
}

/** A connection in memory, and its results. */
class Line extends Duplex {
  readonly seen: Seen[] = [];
  readonly errors: (string | undefined)[] = [];
  output = "";
  isEnded = false;
  /** Whether replies wait, so that the next bytes of the connection arrive while the call runs. */
  readonly isLater: boolean;

  constructor(isLater: boolean) {
    super({ highWaterMark: 16 * 1024 * 1024, autoDestroy: false });
    this.isLater = isLater;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.output += chunk.toString("latin1");
    done();
  }

  deliver(pieces: readonly Uint8Array[], isEnded: boolean): void {
    this.isEnded = isEnded;
    for (const piece of pieces) if (!this.destroyed) this.emit("data", Buffer.from(piece));
    if (isEnded && !this.destroyed) this.emit("end");
  }

  get facts(): object {
    const { seen, errors } = this;
    // Node reads all bytes before the first body. If an error, CONNECT or the end of the client follows, it sends no reply.
    const isCut = errors.length > 0 || this.isEnded || this.destroyed;
    return { seen, errors, output: isCut ? "" : this.output.replace(/Date: .*\r\n/g, "") };
  }
}

const limits: MessageLimits = {
  clock: systemClock,
  maxMessageBytes: 1_000_000,
  buffers: new WireBuffers(1e9),
  writeTimeoutMs: 0,
};

class Side {
  readonly server: Server = createNodeServer({ keepAliveTimeout: 65_000 });
  readonly path: FastPath | undefined;
  /** Requests that the fast path read. */
  accepted = 0;

  constructor(isFast: boolean) {
    this.server.on("request", (request, response) => {
      if (this.path?.adopt(request, response)) return;
      this.#handle(new NodeMessage(request, response, limits));
    });
    this.server.on("clientError", (error: Error & { code?: string }, socket: Line) => {
      socket.errors.push(error.code);
      if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    });
    const endpoint = {
      rules: { limits, route: () => ({ kind: "read" }) },
      handle: (message: HttpMessage) => {
        this.accepted++;
        this.#handle(message);
      },
    };
    this.path = isFast
      ? FastPath.before(this.server, {
          event: "connection",
          checkIntervalMs: 60_000,
          endpointAt: (target) => (target === "/rpc" ? endpoint : undefined),
          isRefused: () => false,
        })
      : undefined;
  }

  open(isLater: boolean): Line {
    const line = new Line(isLater);
    line.on("error", () => {});
    this.server.emit("connection", line);
    return line;
  }

  #handle(message: HttpMessage): void {
    const { seen, isLater } = message.connection as Line;
    message.read({
      received: (body) => {
        const { target, headers, head } = message;
        seen.push({ method: head.method, target, headers: { ...headers }, body });
        const reply = JSON.stringify([seen.length, target, body]);
        if (isLater) setImmediate(() => message.send(200, reply, undefined));
        else message.send(200, reply, undefined);
      },
      failed: (fault) => message.send(400, fault, undefined),
    });
  }
}

interface Input {
  readonly bytes: string;
  readonly pieces: readonly number[];
  readonly isEnded: boolean;
  readonly isLater: boolean;
}

let sides: readonly [fast: Side, alone: Side] | undefined;

export const httpFastPath = fuzzTarget<Input>({
  holds:
    "the fast path reads the same requests and sends the same replies as Node alone, for the same bytes",
  briefly: 1_200,
  atOnce: 100,
  reaches: ["fast path", "Node", "nothing"],
  generate: (random) => ({
    bytes: requestBytes(random).toString("latin1"),
    pieces: pieceLengthsOf(random),
    isEnded: random.oneIn(10),
    isLater: random.oneIn(3),
  }),
  async check({ bytes, pieces, isEnded, isLater }) {
    sides ??= [new Side(true), new Side(false)];
    const [fast] = sides;
    const lines = sides.map((side) => side.open(isLater));
    const before = fast.accepted;
    for (const line of lines) line.deliver(cut(Buffer.from(bytes, "latin1"), pieces), isEnded);
    const isFast = fast.accepted > before;
    for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve));
    const [a, b] = lines.map(({ facts }) => facts);
    if (!isDeepStrictEqual(a, b)) broken("the fast path and Node differ", { fast: a, alone: b });
    const isSeen = lines[1]?.seen.length !== 0;
    for (const line of lines) line.destroy();
    return isFast ? "fast path" : isSeen ? "Node" : "nothing";
  },
});
