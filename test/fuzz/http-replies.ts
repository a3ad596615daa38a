/** Sends the same replies to the fast path of clients and to undici alone; both must read the same. */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { Client, type Dispatcher } from "undici";
import type { ReplyHandler } from "../../src/transports/http/plain-connection.ts";
import { PlainPool } from "../../src/transports/http/plain-pool.ts";
import { inPieces, messageBytes, mutated } from "./http-requests.ts";
import type { FuzzTarget, Random } from "./random.ts";

/** So many connections are compared at a time. */
const atOnce = 100;
const request = '{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}';

const servers: readonly (readonly string[])[] = [
  ["Content-Type: application/json"],
  // Node
  [
    "Content-Type: application/json; charset=utf-8",
    "Date: Wed, 18 Nov 2026 10:00:00 GMT",
    "Connection: keep-alive",
    "Keep-Alive: timeout=5",
  ],
  // uvicorn
  ["date: Wed, 18 Nov 2026 10:00:00 GMT", "server: uvicorn", "content-type: application/json"],
];

const lines: readonly string[] = [
  "HTTP/1.1 204 No Content",
  "HTTP/1.1 200 OK\r\ncontent-type: text/html",
  "HTTP/1.1 200 OK\r\nconnection: close",
  "HTTP/1.1 205 Reset Content",
  "HTTP/1.1 304 Not Modified",
  "HTTP/1.1 100 Continue",
  "HTTP/1.1 101 Switching Protocols",
  "HTTP/1.1 103 Early Hints",
  "HTTP/1.1 400 Bad Request",
  "HTTP/1.1 503 Service Unavailable",
  "HTTP/1.1 600 Other",
  "HTTP/1.1 99 Less",
  "HTTP/1.1 2000 More",
  "HTTP/1.1 200",
  "HTTP/1.1 200 ",
  "HTTP/1.1  200 OK",
  "HTTP/1.0 200 OK",
  "HTTP/2.0 200 OK",
  "http/1.1 200 OK",
  "HTTP/1.1 200 \xe4",
  "\r\nHTTP/1.1 200 OK",
  " HTTP/1.1 200 OK",
  "ICY 200 OK",
  "POST /rpc HTTP/1.1",
  "SSH-2.0-OpenSSH_9.6",
];

/** A connection in memory. */
class Line extends Duplex {
  constructor() {
    super({ highWaterMark: 16 * 1024 * 1024 });
    this.on("error", () => {});
  }

  override _read(): void {}

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    done();
  }

  setTimeout(): void {}
  ref(): void {}
  unref(): void {}

  get socket(): Socket {
    return this as unknown as Socket;
  }
}

/** What a caller gets. */
class Seen implements ReplyHandler {
  #status = 0;
  #type: unknown;
  #body = "";
  #end: "open" | "ended" | "failed" = "open";

  onRequestStart(): void {}

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    // undici leaves spaces at the end.
    this.#type = headers["content-type"]?.toString().trim();
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#body += chunk.toString("latin1");
  }

  onResponseEnd(): void {
    this.#end = "ended";
  }

  onResponseError(): void {
    if (this.#end === "open") this.#end = "failed";
  }

  get isEnded(): boolean {
    return this.#end === "ended";
  }

  /** What arrived before a failure does not matter. */
  get facts(): object {
    const end = this.#end;
    return end === "ended"
      ? { end, status: this.#status, type: this.#type, body: this.#body }
      : { end };
  }
}

export const httpReplies: FuzzTarget = {
  async run(random, inputs) {
    let read = 0;
    let ended = 0;
    for (let done = 0; done < inputs; done += atOnce) {
      const pairs = Array.from({ length: Math.min(atOnce, inputs - done) }, () => open(random));
      await turns(4);
      for (const { pieces, isEnded, lines } of pairs) {
        for (const line of lines) {
          for (const piece of pieces) if (!line.destroyed) line.push(piece);
          if (isEnded && !line.destroyed) line.push(null);
        }
      }
      await turns(12);
      for (const { bytes, pieces, lines, seen, pool } of pairs) {
        const [own, other] = seen;
        if (!isDeepStrictEqual(own.facts, other.facts)) throw difference(bytes, pieces, own, other);
        const [isKept, mayBeKept] = lines.map(({ destroyed }) => !destroyed);
        if (own.isEnded && isKept && !mayBeKept) {
          throw new Error(`only the fast path keeps the connection: ${bytes.toString("latin1")}`);
        }
        if (own.isEnded) ended++;
        if (own.isEnded && pool.known !== undefined) read++;
        for (const line of lines) line.destroy();
        void pool.destroy();
      }
    }
    return { inputs, ended, "read by the fast path": read };
  },
};

function open(random: Random) {
  const whole = messageBytes(random, "HTTP/1.1 200 OK", lines, random.pick(servers));
  const more = random.oneIn(12) ? Buffer.concat([whole, whole]) : whole;
  const bytes = random.oneIn(8) ? mutated(random, more) : more;
  const pieces = inPieces(random, bytes);
  const both = [new Line(), new Line()] as const;
  const seen = [new Seen(), new Seen()] as const;
  const place = { origin: "http://localhost", host: "localhost", path: "/rpc" };
  const pool = new PlainPool(
    place,
    (opened) => {
      queueMicrotask(() => opened(undefined, both[0].socket));
      return both[0].socket;
    },
    1,
  );
  const headers = { "content-type": "application/json" };
  if (!pool.dispatch(request, headers, seen[0])) throw new Error("the fast path did not send");
  const client = new Client(place.origin, {
    connect: (_, opened) =>
      queueMicrotask(() =>
        both[1].destroyed ? opened(new Error("closed"), null) : opened(null, both[1].socket),
      ),
    headersTimeout: 0,
  });
  client.dispatch({ path: place.path, method: "POST", headers, body: request }, seen[1]);
  return { bytes, pieces, isEnded: random.oneIn(6), lines: both, seen, pool };
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

function difference(bytes: Buffer, pieces: readonly Buffer[], own: Seen, other: Seen): Error {
  return new Error(
    [
      `in pieces of ${pieces.map(({ length }) => length).join(", ")} bytes:`,
      JSON.stringify(bytes.toString("latin1")),
      `fast path: ${JSON.stringify(own.facts)}`,
      `undici:    ${JSON.stringify(other.facts)}`,
    ].join("\n"),
  );
}
