import { STATUS_CODES } from "node:http";
import type { HeaderRecord } from "../client-exchange.ts";

/** A name that is valid, and does not say how the reply or the connection ends. */
const plainName =
  /^(?!(?:connection|content-length|content-type|date|keep-alive|trailer|transfer-encoding|upgrade)$)[\w!#$%&'*+.^`|~-]+$/i;
const plainValue = /^[\t -~]*$/;

/** Writes replies as Node does, if they need nothing else. */
export class Replies {
  readonly #keepAlive: () => number;
  /** The headers of every reply, until the next second. */
  #common: string | undefined = undefined;

  /** `keepAlive` is how long an idle connection stays open, in milliseconds. */
  constructor(keepAlive: () => number) {
    this.#keepAlive = keepAlive;
  }

  /** The head of a reply; undefined if Node has to write it. */
  head(
    status: number,
    text: string,
    bytes: number,
    headers: HeaderRecord | undefined,
  ): string | undefined {
    let head =
      status === 200
        ? "HTTP/1.1 200 OK\r\n"
        : `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
    const type = headers?.["content-type"] ?? "application/json";
    if (text !== "") head += `Content-Type: ${type}\r\nContent-Length: ${bytes}\r\n`;
    else if (status !== 204) head += "Content-Length: 0\r\n";
    if (headers !== undefined) {
      const lines = headerLines(headers);
      if (lines === undefined) return undefined;
      head += lines;
    }
    return head + (this.#common ?? this.#write());
  }

  #write(): string {
    const now = new Date();
    setTimeout(() => {
      this.#common = undefined;
    }, 1_000 - now.getMilliseconds()).unref();
    const keepAlive = this.#keepAlive();
    const hint = keepAlive > 0 ? `Keep-Alive: timeout=${Math.floor(keepAlive / 1_000)}\r\n` : "";
    this.#common = `Date: ${now.toUTCString()}\r\nConnection: keep-alive\r\n${hint}\r\n`;
    return this.#common;
  }
}

function headerLines(headers: HeaderRecord): string | undefined {
  let lines = "";
  for (const name of Object.keys(headers)) {
    const value = headers[name] as string;
    if (!plainValue.test(value)) return undefined;
    if (name === "content-type") continue;
    if (!isPlainName(name)) return undefined;
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

/** Names that were found to be plain; a server uses few. */
const plainNames = new Set<string>();
const mostNames = 100;

function isPlainName(name: string): boolean {
  if (plainNames.has(name)) return true;
  if (!plainName.test(name)) return false;
  if (plainNames.size < mostNames) plainNames.add(name);
  return true;
}

/** A connection with replies that were not sent yet. */
export interface Sender {
  sendReplies(): void;
}

/**
 * Sends the replies of one turn of the event loop together, when all requests that arrived in it were read. A client
 * that is woken by each single reply takes more of the server's time than the reply itself.
 */
export class Outbox {
  #waiting: Sender[] = [];
  readonly #send = (): void => this.#sendAll();

  add(sender: Sender): void {
    if (this.#waiting.length === 0) setImmediate(this.#send);
    this.#waiting.push(sender);
  }

  #sendAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const sender of waiting) sender.sendReplies();
  }
}
