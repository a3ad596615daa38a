/** Sends the same replies to the fast path of clients and to undici alone; both must read the same. */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { Client, type Dispatcher } from "undici";
import type { ReplyHandler } from "../../../src/transports/http/plain-connection.ts";
import { PlainPool } from "../../../src/transports/http/plain-pool.ts";
import { cut } from "../json.ts";
import { broken, fuzzTarget } from "../target.ts";
import { messageBytes, mutated, pieceLengthsOf } from "./http-requests.ts";

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

/** The outcome for a caller. */
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
    // undici keeps spaces at the end.
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

interface Input {
  readonly bytes: string;
  readonly pieces: readonly number[];
  readonly isEnded: boolean;
}

export const httpReplies = fuzzTarget<Input>({
  holds:
    "the fast path of clients reads the same replies as undici alone, and keeps no connection that undici closes",
  briefly: 500,
  atOnce: 100,
  reaches: ["read by the fast path", "read", "failed"],
  generate(random) {
    const whole = messageBytes(random, "HTTP/1.1 200 OK", lines, random.pick(servers));
    const more = random.oneIn(12) ? Buffer.concat([whole, whole]) : whole;
    const bytes = random.oneIn(8) ? mutated(random, more) : more;
    return {
      bytes: bytes.toString("latin1"),
      pieces: pieceLengthsOf(random),
      isEnded: random.oneIn(6),
    };
  },
  async check({ bytes, pieces, isEnded }) {
    const { lines, seen, pool } = open();
    await turns(4);
    for (const line of lines) {
      for (const piece of cut(Buffer.from(bytes, "latin1"), pieces)) {
        if (!line.destroyed) line.push(Buffer.from(piece));
      }
      if (isEnded && !line.destroyed) line.push(null);
    }
    await turns(12);
    const [own, other] = seen;
    if (!isDeepStrictEqual(own.facts, other.facts)) {
      broken("the fast path and undici differ", { fast: own.facts, undici: other.facts });
    }
    const [isKept, mayBeKept] = lines.map(({ destroyed }) => !destroyed);
    if (own.isEnded && isKept && !mayBeKept) broken("only the fast path keeps the connection", {});
    const isFast = pool.known !== undefined;
    for (const line of lines) line.destroy();
    void pool.destroy();
    return own.isEnded ? (isFast ? "read by the fast path" : "read") : "failed";
  },
});

function open() {
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
  return { lines: both, seen, pool };
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}
