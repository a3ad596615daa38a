import { printable } from "callwire";
import { httpFetch } from "./http-fetch.ts";
import type { Terminal } from "./terminal.ts";

export class Transcript {
  readonly #terminal: Terminal;
  #start: number | undefined;
  /** Set while the command asks for what the user did not. */
  isPaused = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  sent(text: string): void {
    this.#line(this.#terminal.cyan("-->"), text);
  }

  received(text: string): void {
    this.#line(this.#terminal.green("<--"), text);
  }

  /** Shows what is not a message, such as an HTTP status. */
  noted(note: string): void {
    this.#write("   ", `${" ".repeat(8)}  ${this.#terminal.dim(printable(note))}`);
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const response = await httpFetch(url, init);
    const type = response.headers.get("content-type");
    this.noted(`HTTP ${response.status}${type === null ? "" : ` ${type}`}`);
    return response;
  };

  #line(arrow: string, text: string): void {
    const size = this.#terminal.dim(`${Buffer.byteLength(text)} B`.padStart(8));
    this.#write(arrow, `${size}  ${printable(text)}`);
  }

  #write(arrow: string, rest: string): void {
    if (this.isPaused) return;
    const now = performance.now();
    this.#start ??= now;
    const ms = (now - this.#start).toFixed(1).padStart(8);
    this.#terminal.line(`${arrow} ${this.#terminal.dim(`${ms} ms`)} ${rest}`);
  }
}
