/** Sends the same bytes to the fast path and to Node alone; both must see the same requests and reply the same. */
import { createServer as createNodeServer, type Server } from "node:http";
import { Duplex } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import type { HttpMessage, MessageLimits } from "../../src/http/http-message.ts";
import { NodeMessage } from "../../src/http/node-message.ts";
import { systemClock } from "../../src/protocol/clock.ts";
import { WireBuffers } from "../../src/protocol/memory-bounds.ts";
import { FastPath } from "../../src/serve/fast-path.ts";
import { inPieces, requestBytes } from "./http-requests.ts";
import type { FuzzTarget, Random } from "./random.ts";

/** So many connections are compared at a time. */
const atOnce = 100;

interface Seen {
  readonly method: string | undefined;
  readonly target: string;
  readonly headers: unknown;
  readonly body: string | undefined;
}

/** A connection in memory, and what came of it. */
class Line extends Duplex {
  readonly seen: Seen[] = [];
  readonly errors: (string | undefined)[] = [];
  output = "";
  isEnded = false;

  constructor() {
    super({ highWaterMark: 16 * 1024 * 1024, autoDestroy: false });
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.output += chunk.toString("latin1");
    done();
  }

  deliver(pieces: readonly Buffer[], isEnded: boolean): void {
    this.isEnded = isEnded;
    for (const piece of pieces) if (!this.destroyed) this.emit("data", piece);
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

/** `isLater` says that replies wait, so that what follows on the connection arrives while the call runs. */
class Side {
  readonly server: Server = createNodeServer({ keepAliveTimeout: 65_000 });
  readonly path: FastPath | undefined;
  readonly #isLater: () => boolean;
  accepted = 0;

  constructor(isFast: boolean, isLater: () => boolean) {
    this.#isLater = isLater;
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

  open(): Line {
    const line = new Line();
    line.on("error", () => {});
    this.server.emit("connection", line);
    return line;
  }

  #handle(message: HttpMessage): void {
    const { seen } = message.connection as Line;
    message.read({
      received: (body) => {
        const { target, headers, head } = message;
        seen.push({ method: head.method, target, headers: { ...headers }, body });
        const reply = JSON.stringify([seen.length, target, body]);
        if (this.#isLater()) setImmediate(() => message.send(200, reply, undefined));
        else message.send(200, reply, undefined);
      },
      failed: (fault) => message.send(400, fault, undefined),
    });
  }
}

export const httpFastPath: FuzzTarget = {
  async run(random, inputs) {
    let isLater = false;
    const fast = new Side(true, () => isLater);
    const alone = new Side(false, () => isLater);
    let requests = 0;
    for (let done = 0; done < inputs; done += atOnce) {
      isLater = random.oneIn(3);
      const pairs = Array.from({ length: Math.min(atOnce, inputs - done) }, () =>
        send(random, fast, alone),
      );
      for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve));
      for (const { bytes, pieces, lines } of pairs) {
        const [a, b] = lines.map(({ facts }) => facts);
        if (!isDeepStrictEqual(a, b)) throw new Error(difference(bytes, pieces, a, b));
        requests += lines[1].seen.length;
        for (const line of lines) line.destroy();
      }
    }
    for (const { server } of [fast, alone]) server.close();
    return { inputs, requests, "read by the fast path": fast.accepted };
  },
};

function send(random: Random, fast: Side, alone: Side) {
  const bytes = requestBytes(random);
  const pieces = inPieces(random, bytes);
  const isEnded = random.oneIn(10);
  const lines = [fast.open(), alone.open()] as const;
  for (const line of lines) line.deliver(pieces, isEnded);
  return { bytes, pieces, lines };
}

function difference(
  bytes: Buffer,
  pieces: readonly Buffer[],
  fast: unknown,
  alone: unknown,
): string {
  return [
    "the fast path and Node differ:",
    JSON.stringify(bytes.toString("latin1")),
    `in pieces of ${pieces.map(({ length }) => length)}`,
    `fast path: ${JSON.stringify(fast)}`,
    `Node: ${JSON.stringify(alone)}`,
  ].join("\n");
}
