import type { IncomingMessage } from "node:http";
import type { RequestHead } from "./request-head.ts";

/**
 * Reads the few headers that every request is judged by from their raw form; building the object
 * of all headers would cost as much as answering.
 */
export class NodeHead implements RequestHead {
  readonly #request: IncomingMessage;
  host: string | undefined = undefined;
  origin: string | undefined = undefined;
  site: string | undefined = undefined;
  contentType: string | undefined = undefined;
  contentEncoding: string | undefined = undefined;
  contentLength: string | undefined = undefined;
  accept: string | undefined = undefined;
  doubled = false;

  constructor(request: IncomingMessage) {
    this.#request = request;
    const raw = request.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i] as string;
      // Most names are told apart by their length.
      switch (name.length) {
        case 4:
          if (name === "host" || name === "Host" || name.toLowerCase() === "host") {
            if (this.host !== undefined) this.doubled = true;
            this.host = raw[i + 1];
          }
          break;
        case 6:
          this.#read6(name.toLowerCase(), raw[i + 1] as string);
          break;
        case 12:
          if (name === "Content-Type" || name.toLowerCase() === "content-type") {
            if (this.contentType !== undefined) this.doubled = true;
            this.contentType = raw[i + 1];
          }
          break;
        case 14:
          this.#read14(name.toLowerCase(), raw[i + 1] as string);
          break;
        case 16:
          if (name.toLowerCase() === "content-encoding") this.contentEncoding = raw[i + 1];
          break;
      }
    }
    // HTTP/2 has another name for it.
    this.host ??= request.headers[":authority"] as string | undefined;
  }

  get method(): string | undefined {
    return this.#request.method;
  }

  get lastEventId(): string | undefined {
    const { "last-event-id": id } = this.#request.headers;
    return typeof id === "string" ? id : undefined;
  }

  get authorization(): string | undefined {
    return this.#request.headers.authorization;
  }

  get requestedHeaders(): string | undefined {
    return this.#request.headers["access-control-request-headers"];
  }

  #read6(name: string, value: string): void {
    if (name === "accept")
      this.accept = this.accept === undefined ? value : `${this.accept},${value}`;
    else if (name === "origin") {
      if (this.origin !== undefined) this.doubled = true;
      this.origin = value;
    }
  }

  #read14(name: string, value: string): void {
    if (name === "content-length") this.contentLength = value;
    else if (name === "sec-fetch-site") this.site = value;
  }
}
