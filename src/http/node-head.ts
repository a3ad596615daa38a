import type { IncomingMessage } from "node:http";
import type { RequestHead } from "./http-message.ts";

/**
 * Reads the few headers that every request is checked by from their raw form; building the object
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
  isAmbiguous = false;

  constructor(request: IncomingMessage) {
    this.#request = request;
    const raw = request.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i] as string;
      // Most names differ in their length.
      switch (name.length) {
        case 4:
          if (name === "host" || name === "Host" || name.toLowerCase() === "host") {
            if (this.host !== undefined) this.isAmbiguous = true;
            this.host = raw[i + 1];
          }
          break;
        case 6:
          this.#read6(name.toLowerCase(), raw[i + 1] as string);
          break;
        case 12:
          if (name === "Content-Type" || name.toLowerCase() === "content-type") {
            if (this.contentType !== undefined) this.isAmbiguous = true;
            this.contentType = raw[i + 1];
          }
          break;
        case 14:
          this.#read14(name.toLowerCase(), raw[i + 1] as string);
          break;
        case 16:
          if (name.toLowerCase() === "content-encoding") {
            const value = raw[i + 1] as string;
            this.contentEncoding =
              this.contentEncoding === undefined ? value : `${this.contentEncoding}, ${value}`;
          }
          break;
      }
    }
    // The name of the header in HTTP/2.
    this.host ??= request.headers[":authority"] as string | undefined;
  }

  get method(): string | undefined {
    return this.#request.method;
  }

  get(name: string): string | undefined {
    const raw = this.#request.rawHeaders;
    let found: string | undefined;
    for (let i = 0; i < raw.length; i += 2) {
      const each = raw[i] as string;
      if (each.length !== name.length || (each !== name && each.toLowerCase() !== name)) continue;
      found = found === undefined ? raw[i + 1] : `${found}, ${raw[i + 1]}`;
    }
    return found;
  }

  #read6(name: string, value: string): void {
    if (name === "accept")
      this.accept = this.accept === undefined ? value : `${this.accept},${value}`;
    else if (name === "origin") {
      if (this.origin !== undefined) this.isAmbiguous = true;
      this.origin = value;
    }
  }

  #read14(name: string, value: string): void {
    if (name === "content-length") this.contentLength = value;
    else if (name === "sec-fetch-site") this.site = value;
  }
}
