import { channel } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { HeaderRecord } from "../../http/client-exchange.ts";
import { type PlainReplyHead, usualIdleMs } from "../../http/fast-path/reply-head.ts";
import { WireError } from "../../protocol/errors.ts";
import { LinkedList } from "../../protocol/linked-list.ts";
import type { Connector } from "./connector.ts";
import { HandedSocket } from "./handed-socket.ts";
import {
  type ConnectionOwner,
  PlainCall,
  PlainConnection,
  type ReplyHandler,
} from "./plain-connection.ts";

/** Longer requests are left to undici, because a server may reply before it has read them. */
const longestBody = 64 * 1024;
const sweepMs = 1_000;

/** Tools that trace undici expect each request here. */
const traced = channel("undici:request:create");

const token = /^[\w!#$%&'*+.^`|~-]+$/;
const printable = /^[\t -~]*$/;
/** Headers that change how a connection or a body is read. */
const leftToUndici =
  /^(?:connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;

interface Place {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
}

/**
 * Sends plain requests over connections of its own, because undici takes most of the time of a short call. A reply in
 * another form is left to undici, together with its connection.
 */
export class PlainPool implements ConnectionOwner {
  known: PlainReplyHead | undefined = undefined;
  readonly #place: Place;
  readonly #connect: Connector;
  readonly #most: number;
  /** Sockets that are open or being opened, also those that undici reads. */
  readonly #sockets = new Set<Socket>();
  readonly #idle: PlainConnection[] = [];
  readonly #waiting = new LinkedList<PlainCall>();
  /** Set if the server replies in another form, so that undici should send the requests too. */
  #isUnusual = false;
  #headers: HeaderRecord | undefined = undefined;
  #head: string | undefined = undefined;
  #sweep: NodeJS.Timeout | undefined = undefined;
  #isReleasing = false;
  #isClosed = false;

  constructor(place: Place, connect: Connector, connections: number) {
    this.#place = place;
    this.#connect = connect;
    this.#most = connections;
  }

  /** False if undici has to send the request. */
  dispatch(body: string, headers: HeaderRecord, handler: ReplyHandler): boolean {
    if (this.#isUnusual || body.length > longestBody || traced.hasSubscribers) return false;
    if (headers !== this.#headers) {
      this.#headers = headers;
      this.#head = headOf(this.#place, headers);
    }
    const head = this.#head;
    if (head === undefined) return false;
    const options = { path: this.#place.path, method: "POST", headers, body } as const;
    this.#send(new PlainCall(handler, head, body, options));
    return true;
  }

  freed(connection: PlainConnection, idleMs: number): void {
    for (let next = this.#waiting.first; next !== undefined; next = this.#waiting.first) {
      this.#waiting.remove(next);
      if (connection.send(next)) return;
    }
    connection.idleUntil = performance.now() + idleMs;
    this.#idle.push(connection);
    this.#sweep ??= setTimeout(this.#closeIdle, sweepMs).unref();
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    // Not at once, because most connections are used again within the turn.
    setImmediate(this.#release);
  }

  handOver(call: PlainCall, socket: Socket, bytes: Buffer): void {
    const handed = new HandedSocket(socket, bytes);
    // undici reports it too, once it is loaded.
    handed.on("error", () => {});
    if (isUnusualResult(bytes.toString("latin1", 0, longestHint))) this.#isUnusual = true;
    const lost = new Error("the server closed the connection");
    void import("undici").then(({ Client }) => {
      const client = new Client(this.#place.origin, {
        // undici ignores a connection that is opened at once, and would try forever to open a closed one.
        connect: (_, opened) =>
          queueMicrotask(() =>
            handed.destroyed ? opened(lost, null) : opened(null, handed as unknown as Socket),
          ),
        headersTimeout: 0,
      });
      handed.once("close", () => void client.destroy(lost));
      client.dispatch({ ...call.options, reset: true }, call.handler);
    });
  }

  closed(connection: PlainConnection): void {
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  /** Closes all connections; the calls on them fail. */
  async destroy(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#sweep);
    const closing = [...this.#sockets].map(
      (socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())),
    );
    for (const socket of this.#sockets) socket.destroy();
    for (const call of this.#waiting.list()) {
      this.#waiting.remove(call);
      call.fail(new WireError("CLOSED", "the link is closed"));
    }
    await Promise.all(closing);
  }

  #send(call: PlainCall): void {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.idleUntil <= performance.now()) idle.destroy();
      else {
        if (!idle.send(call)) this.freed(idle, usualIdleMs);
        return;
      }
    }
    if (this.#sockets.size < this.#most) this.#open(call);
    else this.#waiting.add(call);
  }

  #open(call: PlainCall): void {
    const socket = this.#connect((error, opened) => {
      if (error !== undefined) {
        call.fail(error);
        return;
      }
      const connection = new PlainConnection(opened, this);
      if (!connection.send(call)) this.freed(connection, usualIdleMs);
    });
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      const next = this.#waiting.first;
      if (next === undefined || this.#isClosed) return;
      this.#waiting.remove(next);
      this.#open(next);
    });
  }

  /** Idle connections must not keep the process alive. Those that became idle last are at the end. */
  readonly #release = (): void => {
    this.#isReleasing = false;
    for (let i = this.#idle.length - 1; i >= 0 && this.#idle[i]?.unref() === true; ) i--;
  };

  readonly #closeIdle = (): void => {
    const now = performance.now();
    for (const connection of this.#idle) if (connection.idleUntil <= now) connection.destroy();
    this.#sweep =
      this.#idle.length === 0 ? undefined : setTimeout(this.#closeIdle, sweepMs).unref();
  };
}

const longestHint = 8 * 1024;

/** Events and files are left to undici one by one; any other result says how the server replies. */
function isUnusualResult(head: string): boolean {
  const end = head.indexOf("\r\n\r\n");
  return (
    end >= 0 &&
    head.startsWith("HTTP/1.1 2") &&
    !/\r\ncontent-type:\s*(?:text\/event-stream|multipart\/)/i.test(head.slice(0, end))
  );
}

/** The head of requests with these headers, up to the digits of Content-Length; undefined if undici has to send them. */
function headOf({ host, path }: Place, headers: HeaderRecord): string | undefined {
  let head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (leftToUndici.test(name) || !token.test(name) || !printable.test(value)) return undefined;
    head += `${name}: ${value}\r\n`;
  }
  return `${head}content-length: `;
}
