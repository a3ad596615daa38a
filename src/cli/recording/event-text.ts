/** Finds the data of events in bytes that pass by. */
export class EventText {
  readonly #found: (data: string) => void;
  readonly #decoder = new TextDecoder();
  #rest = "";

  constructor(found: (data: string) => void) {
    this.#found = found;
  }

  push(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const data = /^data: ?(.*)$/.exec(line)?.[1];
      // The end of a stream in its plain form is no message.
      if (data !== undefined && data !== "[DONE]") this.#found(data);
    }
  }
}
