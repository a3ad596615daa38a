import { createWriteStream, type WriteStream } from "node:fs";
import { printableLines } from "callwire";
import type { Redact } from "callwire/observability";

type Place = Pick<RecordedMessage, "connection" | "wire" | "from" | "status">;

export class Recorder {
  readonly #file: WriteStream;
  readonly #redact: Redact;
  /** Rejects when the file cannot be written. */
  readonly failed: Promise<never>;
  count = 0;

  constructor(path: string, redact: Redact) {
    this.#redact = redact;
    // Readable only by the owner, because redaction may miss a secret.
    this.#file = createWriteStream(path, { mode: 0o600 });
    this.failed = new Promise((_, reject) => this.#file.once("error", reject));
    this.failed.catch(() => {});
  }

  add(place: Place, text: string): void {
    if (text === "") return;
    const time = new Date().toISOString();
    const write = (content: Pick<RecordedMessage, "message" | "unreadable">): string =>
      printableLines(JSON.stringify({ time, ...place, ...content } satisfies RecordedMessage));
    let line: string;
    try {
      line = write(this.#read(text));
    } catch {
      // JSON.stringify overflows the stack on deep nesting that JSON.parse accepts.
      line = write({ unreadable: text.length });
    }
    this.#file.write(`${line}\n`);
    this.count++;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#file.end(() => resolve()));
  }

  #read(text: string): Pick<RecordedMessage, "message" | "unreadable"> {
    let payload: unknown;
    try {
      payload = JSON.parse(text);
    } catch {
      return { unreadable: text.length };
    }
    return {
      message: Array.isArray(payload)
        ? payload.map((entry) => this.#hidden(entry))
        : this.#hidden(payload),
    };
  }

  /** Redacts params, results and errors, but not the envelope. */
  #hidden(message: unknown): unknown {
    if (typeof message !== "object" || message === null) return message;
    const { params, result, error, ...rest } = message as Record<string, unknown>;
    return {
      ...rest,
      ...(params === undefined ? {} : { params: this.#redact(params, "params") }),
      ...(result === undefined ? {} : { result: this.#redact(result, "result") }),
      ...(error === undefined ? {} : { error: this.#redact(error, "error") }),
    };
  }
}

export interface RecordedMessage {
  readonly time: string;
  /** The number of the WebSocket or HTTP request. */
  readonly connection: number;
  readonly wire: "http" | "websocket";
  readonly from: "client" | "server";
  /** A message or a batch; undefined if it was not JSON. */
  readonly message?: unknown;
  /** Length of a message that was not JSON. */
  readonly unreadable?: number;
  readonly status?: number;
}

/** Replaces a secret; matches any value when replies are compared. */
export const redactedText = "[redacted]";
